package recipes

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestElection_showsItsTermsInOrder(t *testing.T) {
	eachVariant(t, func(t *testing.T, v Variant) {
		ctx, path := within(t, 30*time.Second), freshPath()
		observing, stop := context.WithCancel(ctx)
		terms := make(chan Term)
		watching := NewElection(open(t, nil), path, "", v)
		ended := make(chan error, 1)
		go func() { ended <- watching.Observe(observing, func(term Term) { terms <- term }) }()
		if first := <-terms; first.Token != 0 {
			t.Errorf("before anybody stood, %+v leads", first)
		}
		var last Term
		for _, name := range []string{"ann", "bob", "cyd"} {
			s := open(t, nil)
			e := NewElection(s, path, name, v)
			g := acquire(t, e.Campaign)
			term := <-terms
			want := Term{Token: g.Token, Session: s.ID(), Path: g.Path, Name: name}
			if term != want || term.Token <= last.Token {
				t.Errorf("observed %+v after %+v, want %+v", term, last, want)
			}
			if now, err := e.Leader(ctx); err != nil || now != want {
				t.Errorf("Leader says %+v (%v), want %+v", now, err, want)
			}
			last = term
			release(t, g)
			if none := <-terms; none.Token != 0 {
				t.Errorf("after %s resigned, %+v leads", name, none)
			}
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the observer ended with %v", err)
		}
	})
}

func TestElection_leadsTermAfterTerm(t *testing.T) {
	eachVariant(t, func(t *testing.T, v Variant) {
		ctx, path := within(t, 30*time.Second), freshPath()
		enough := errors.New("enough")
		var mu sync.Mutex
		var order []string
		var tokens []int64
		var all sync.WaitGroup
		for _, name := range []string{"ann", "bob"} {
			e := NewElection(open(t, nil), path, name, v)
			all.Go(func() {
				terms := 0
				err := e.Lead(ctx, func(_ context.Context, term *Grant) error {
					mu.Lock()
					defer mu.Unlock()
					order, tokens = append(order, name), append(tokens, term.Token)
					if terms++; terms == 3 {
						return enough
					}
					return nil
				})
				if !errors.Is(err, enough) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		all.Wait()
		if len(order) != 6 || !slices.IsSorted(tokens) {
			t.Errorf("terms of %v with tokens %x: want three of each in rising order", order, tokens)
		}
		if left := lineAt(t, open(t, nil), path, candidatePrefix); len(left) != 0 {
			t.Errorf("still standing: %v", left)
		}
	})
}

func TestElection_endsTheLeadersContextWhenSuspended(t *testing.T) {
	ctx := within(t, 30*time.Second)
	s, tap := tapped(t)
	enough := errors.New("enough")
	err := NewElection(s, freshPath(), "", Predecessor).Lead(ctx, func(during context.Context, _ *Grant) error {
		tap.Cut()
		<-during.Done()
		if ctx.Err() != nil {
			t.Error("the term was not called off")
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
}

func TestElection_resignsAtAPanic(t *testing.T) {
	ctx, path, s := within(t, 30*time.Second), freshPath(), open(t, nil)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		NewElection(s, path, "", Predecessor).Lead(ctx, func(context.Context, *Grant) error { panic("in office") })
	}()
	if left := lineAt(t, s, path, candidatePrefix); len(left) != 0 {
		t.Errorf("after a panic in office there stand %v", left)
	}
}
