package container

import (
	"errors"
	"testing"

	"github.com/zkbench/zkbench/ensembles/internal/check"
)

func TestPickImage_prefersWhatIsHere(t *testing.T) {
	d := docker(t)
	defer d.Close()
	name, err := pickImage(t.Context(), d, "", t.Logf)
	check.OK(t, err)
	here, err := present(t.Context(), d, name)
	check.OK(t, err)
	official, err := present(t.Context(), d, defaultImage)
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
	check.Error(t, err, defaultImage, localImage, "--image", "--ensemble process")
}
