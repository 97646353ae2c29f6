package process

// MarkPrefix begins the argument by which the JVMs of an ensemble are found.
const MarkPrefix = "-Dzkbench.ensemble="
