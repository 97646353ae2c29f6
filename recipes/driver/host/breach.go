package host

import (
	"fmt"
	"slices"
	"strings"
)

// Breach is a rule of the protocol that a driver has broken.
type Breach struct {
	Driver   string
	Rule     string
	Line     string   // that breaks it; "" where there is none
	Exchange []string // the lines before it, "> " sent and "< " received
}

func (b *Breach) Error() string {
	text := b.Driver + ": its driver broke the protocol: " + b.Rule
	if b.Line != "" {
		text += ": " + b.Line
	}
	return text
}

func (p *Process) breach(line, rule string) *Breach {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &Breach{p.command.Name, rule, shortened(line), slices.Clone(p.last.lines)}
}

// exchange is the last lines of a conversation.
type exchange struct{ lines []string }

func (e *exchange) add(mark string, line []byte) {
	if len(e.lines) == 20 {
		e.lines = slices.Delete(e.lines, 0, 1)
	}
	e.lines = append(e.lines, mark+shortened(string(line)))
}

// shortened is a line as it is shown.
func shortened(line string) string {
	const most = 300
	line = strings.TrimRight(line, "\r\n")
	if len(line) > most {
		return fmt.Sprintf("%s... (%d bytes and more)", strings.ToValidUTF8(line[:most], ""), len(line))
	}
	return line
}

// Exchange returns the last lines of the conversation, oldest first.
func (p *Process) Exchange() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.last.lines)
}
