package zoo

import "slices"

// A queue that takes the highest number is a stack.
func init() {
	queue("queue-lifo", "takes the youngest item", queueSteps{
		order: func(names []string) {
			slices.SortFunc(names, func(a, b string) int { return int(number(b) - number(a)) })
		},
	})
}
