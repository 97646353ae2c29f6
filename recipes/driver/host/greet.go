package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
)

// greetings is the number of clock round trips at the start of a conversation.
const greetings = 50

// Greet sends hello and maps the driver's clock, which is then read every second.
func (p *Process) Greet() error {
	a, _, err := p.ask(lines.Request{Op: "hello", Protocol: lines.Protocol}, helloLimit, nil)
	switch {
	case err != nil:
		return err
	case a.Error != nil:
		err = fmt.Errorf("hello must be answered with a description of the driver, got %v", a.Error)
	case a.OK.Hello == nil || a.OK.Protocol != lines.Protocol:
		err = fmt.Errorf("hello is answered with the protocol's number, %d", lines.Protocol)
	}
	if err != nil {
		err = p.breach(p.lastSaid(), err.Error())
		p.fail(err)
		return err
	}
	p.Hello, p.greeting = *a.OK.Hello, p.lastSaid()
	if err := p.MeasureClock(greetings); err != nil {
		return err
	}
	go p.keepTime()
	return nil
}

// lastSaid returns the last line that the process has printed.
func (p *Process) lastSaid() string {
	for _, line := range slices.Backward(p.Exchange()) {
		if said, ok := strings.CutPrefix(line, "< "); ok {
			return said
		}
	}
	return ""
}
