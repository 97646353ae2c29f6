package observer

import (
	"regexp"
	"sync"
)

// Items tracks the items of a queue that were put and not taken, by ID. A node is recognized as an item by
// its data: a recipe may keep journals, claims and records in nodes with similar names.
type Items struct {
	mu    sync.Mutex
	takes map[string]int // how often each item that was put has been received
	shown bool           // a node has contained an item's ID, so the recipe does not encode items
}

// itemIDs matches possible IDs in a node's data, however the recipe encodes the item.
var itemIDs = regexp.MustCompile(`[0-9]+-[0-9]+`)

// maxItemStart is the number of bytes of a node's data that are searched for an ID.
const maxItemStart = 1024

// Put records that the item was put.
func (o *Items) Put(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.takes == nil {
		o.takes = map[string]int{}
	}
	o.takes[id] = 0
}

// Taken records that a consumer received the item. An item that is received twice was not removed: it is outstanding.
func (o *Items) Taken(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, put := o.takes[id]; put {
		o.takes[id]++
	}
}

// mayContain reports whether a node with that data holds an outstanding item. In a numbered node, data without an ID may
// be an encoded item, unless a node has contained an ID.
func (o *Items) mayContain(data []byte, numbered bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	named, waits := false, false
	for _, id := range itemIDs.FindAll(data[:min(len(data), maxItemStart)], -1) {
		takes, put := o.takes[string(id)]
		named, waits = named || put, waits || put && takes != 1
	}
	o.shown = o.shown || named
	return waits || numbered && !named && !o.shown && len(data) > 0
}
