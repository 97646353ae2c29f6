package container

import (
	"errors"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles/internal/check"
)

func TestPickImage_prefersWhatIsHere(t *testing.T) {
	needDocker(t)
	docker, err := Docker(t.Context())
	check.OK(t, err)
	defer docker.Close()
	name, err := pickImage(t.Context(), docker, "", t.Logf)
	check.OK(t, err)
	here, err := present(t.Context(), docker, name)
	check.OK(t, err)
	official, err := present(t.Context(), docker, defaultImage)
	check.OK(t, err)
	if !here || official != (name == defaultImage) {
		t.Errorf("picked %s, which is here: %v; %s is here: %v", name, here, defaultImage, official)
	}
}

func TestNoImage_namesEveryWayOut(t *testing.T) {
	pull, build := errors.New("no such host"), errors.New("needs root")
	err := noImage(pull, build)
	if !errors.Is(err, pull) || !errors.Is(err, build) {
		t.Errorf("%v hides its causes", err)
	}
	for _, want := range []string{defaultImage, localImage, "--image", "--ensemble process"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not hold %q", err, want)
		}
	}
}
