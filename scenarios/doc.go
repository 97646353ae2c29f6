// Package scenarios measures subjects of package recipes on a real ensemble. A scenario, read from
// YAML or built in, defines a matrix of trials. Each trial runs clients of one subject through phases
// while faults are active. [Run] runs a scenario and returns the result:
//
//	name, text, err := spec.Source("herd")
//	scenario, err := spec.Load(name, text, "subjects=[lock/mine]", "clients=[5, 10]")
//	result, err := scenarios.Run(ctx, scenarios.Config{Scenario: scenario, Dir: "herd-of-mine"})
//
// run.go manages the ensemble and the run folder, runner.go and order.go the order of the trials, and
// trial.go a single trial. Package spec reads scenarios; package phases defines the kinds of phase, which run on a [stage.Stage], the environment of one trial; package audit defines the episodes of an audit.
package scenarios
