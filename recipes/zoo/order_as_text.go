package zoo

import "strings"

// The number that the servers append is an int32 in ten characters. Once the parent's counter has
// wrapped it is negative (ZOOKEEPER-4372), and text is ordered the wrong way round: "-0000000002"
// comes before "-0000000003", which is lower. kazoo sorted so (#606).
func init() {
	contestant("order-as-text", "compares the numbers as text, which turns the order round once they are negative", steps{
		order: func(names []string, ours string) (first bool, ahead string) {
			return ordered(names, ours, func(a, b string) bool { return text(a) < text(b) })
		},
	})
}

func text(name string) string { return name[strings.LastIndex(name, marker)+len(marker):] }
