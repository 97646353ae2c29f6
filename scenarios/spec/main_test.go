package spec_test

import _ "github.com/zkbench/zkbench/scenarios" // registers the kinds of phase
