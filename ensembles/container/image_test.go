package container

import (
	"errors"
	"strings"
	"testing"
)

func TestPickImage_prefersWhatIsHere(t *testing.T) {
	needDocker(t)
	docker, err := connect(t.Context())
	must(t, err)
	defer docker.Close()
	name, err := pickImage(t.Context(), docker, "", t.Logf)
	must(t, err)
	here, err := present(t.Context(), docker, name)
	must(t, err)
	official, err := present(t.Context(), docker, DefaultImage)
	must(t, err)
	if !here || official != (name == DefaultImage) {
		t.Errorf("picked %s, which is here: %v; %s is here: %v", name, here, DefaultImage, official)
	}
}

func TestNoImage_namesEveryWayOut(t *testing.T) {
	pull, build := errors.New("no such host"), errors.New("needs root")
	err := noImage(pull, build)
	if !errors.Is(err, pull) || !errors.Is(err, build) {
		t.Errorf("%v hides its causes", err)
	}
	for _, want := range []string{DefaultImage, LocalImage, "--image", "--ensemble process"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not hold %q", err, want)
		}
	}
}
