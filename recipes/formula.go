package recipes

// Formula says in words how many notifications something causes, for reports. The
// derivations are those of DrainCost, QueueCost and FlapCost.
type Formula struct {
	Of   string // "hand-off", "item" or "flap"
	Text string
}

// Formulas returns what is expected of a subject of that recipe and variant; nothing
// where there is no variant.
func Formulas(recipe string, v Variant) []Formula {
	switch {
	case v == "":
		return nil
	case recipe == "queue" && v == Parent:
		return []Formula{
			{"item", "N: each of the N idle consumers watches the items"},
			{"flap", "0: consumers have no nodes, and the items stay as they are"},
		}
	case recipe == "queue":
		return []Formula{
			{"item", "2: the head of the line by the item, and the next by the head's leaving; 1 with a single consumer"},
			{"flap", "1: the consumer right behind; 0 when the last in line flaps"},
		}
	case v == Parent:
		return []Formula{
			{"hand-off", "(N+2)/2 on average while N contenders drain: at the i-th release N-i wait, and every holder but the first has a watch of its own; (N-1)(N+2)/2 in all"},
			{"flap", "2N-3: the N-2 others who wait when the node goes and again when it is back, and the waiter's own watch"},
		}
	}
	return []Formula{
		{"hand-off", "1: the next in line; N-1 in all while N contenders drain"},
		{"flap", "1: the contender right behind; 0 when the last in line flaps"},
	}
}
