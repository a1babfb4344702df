package runner

import (
	"os"
	"regexp"
	"testing"
)

// semver is a version of semver.org's, with build metadata.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-dev)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// TestVersion: the version is one word of SemVer, whatever the revision that the linker sets.
func TestVersion(t *testing.T) {
	before := revision
	defer func() { revision = before }()
	for set, want := range map[string]string{
		"f048b4137bf1 ": release + "+f048b4137bf1",
		"f048b4137bf1+": release + "+f048b4137bf1.dirty",
	} {
		revision = set
		if got := Version(); got != want || !semver.MatchString(got) {
			t.Errorf("with the revision %q: %q, want %q, of SemVer's form", set, got, want)
		}
	}
	revision = ""
	if got := Version(); !semver.MatchString(got) {
		t.Errorf("without a revision: %q is not of SemVer's form", got)
	}
}

// TestTheChangelogHasTheRelease: what users can notice of this version is told under its number, or still to be released.
func TestTheChangelogHasTheRelease(t *testing.T) {
	text, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d$`).FindSubmatch(text)
	if heading == nil || string(heading[1]) != release && !regexp.MustCompile(`-dev$`).MatchString(release) {
		t.Errorf("the newest release in the changelog is %q, the program is %s", heading, release)
	}
}
