package process

// MarkPrefix begins the argument by which the JVMs of an ensemble are found again.
const MarkPrefix = "-Dzkbench.ensemble="
