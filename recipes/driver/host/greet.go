package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
)

// greetings is how many clock round trips a conversation begins with.
const greetings = 50

// Greet says hello and learns the driver's clock, which is then asked every second.
func (p *Process) Greet() error {
	a, _, err := p.ask(lines.Request{Op: "hello", Protocol: lines.Protocol}, helloLimit, nil)
	switch {
	case err != nil:
		return err
	case a.Error != nil:
		err = fmt.Errorf("hello is answered with what the driver is; it answered %v", a.Error)
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

// lastSaid is the last line that the process has written.
func (p *Process) lastSaid() string {
	for _, line := range slices.Backward(p.Exchange()) {
		if said, ok := strings.CutPrefix(line, "< "); ok {
			return said
		}
	}
	return ""
}
