// Package scenarios measures subjects of package recipes on a real ensemble. A [Scenario], read
// from YAML or built in, spans a matrix of trials. Each trial runs clients of one subject through
// phases while faults are active. [Run] runs it and returns the result:
//
//	name, text, err := scenarios.Source("herd")
//	scenario, err := scenarios.Load(name, text, "subjects=[lock/mine]", "clients=[5, 10]")
//	result, err := scenarios.Run(ctx, scenarios.Config{Scenario: scenario, Dir: "herd-of-mine"})
//
// # Files
//
// scenario.go, phase.go, fault.go and zoo.go define the fields of a file; load.go,
// check.go, override.go and matrix.go read it. Each kind of phase is a file, kind_NAME.go, in a
// registry (kind.go). A kind uses the trial as a stage (stage.go): clients, clock, record, tree and
// faults. trial.go, runner.go and run.go add the ensemble, network, plans and folders.
package scenarios
