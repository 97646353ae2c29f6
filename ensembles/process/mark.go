package process

// MarkPrefix is the prefix of the argument that marks the JVMs of an ensemble; the ensemble's ID follows.
const MarkPrefix = "-Dzkbench.ensemble="
