package scenarios

import (
	"errors"
	"testing"
	"time"
)

func TestFence_refusesTokensThatAreNoUse(t *testing.T) {
	for _, row := range []struct {
		about  string
		writes [][2]int64 // token and grant
		want   error      // of the last
	}{
		{"tokens that rise", [][2]int64{{3, 1}, {5, 2}}, nil},
		{"one holder that writes again", [][2]int64{{3, 1}, {3, 1}}, nil},
		{"a token that goes down", [][2]int64{{5, 1}, {3, 2}}, errHigher},
		{"a token that is handed out twice", [][2]int64{{3, 1}, {3, 2}}, errTwice},
	} {
		t.Run(row.about, func(t *testing.T) {
			o := newObserver(ensemble, 4*time.Second, "/"+t.Name())
			defer func() { must(t, o.close()) }()
			must(t, o.open(t.Context(), o.root+"/line"))
			f := &fence{observer: o, path: o.root + "/resource"}
			must(t, f.open(t.Context()))
			last := len(row.writes) - 1
			for _, w := range row.writes[:last] {
				_, err := f.write(t.Context(), w[0], w[1])
				must(t, err)
			}
			if _, err := f.write(t.Context(), row.writes[last][0], row.writes[last][1]); !errors.Is(err, row.want) {
				t.Errorf("got %v, want %v", err, row.want)
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
