package deploy

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestReleasedImage: scripts/dist makes an image with the user and the command of the one that is built by the image file.
func TestReleasedImage(t *testing.T) {
	i, script := readImage(t), readText(t, "../scripts/dist")
	_, user, _ := strings.Cut(i.one(t, "RUN"), "useradd ")
	user, _, _ = strings.Cut(user, " &&")
	for _, want := range []string{
		"useradd " + user,
		"--config.user " + i.user,
		"--config.env " + i.one(t, "ENV"),
		"--config.workingdir " + i.one(t, "WORKDIR"),
		"--config.volume " + i.one(t, "VOLUME"),
		"--config.entrypoint " + strings.Join(words(t, i.one(t, "ENTRYPOINT")), " "),
		"' --config.cmd %s' " + strings.Join(words(t, i.one(t, "CMD")), " ") + ")",
	} {
		if !strings.Contains(script, want) {
			t.Errorf("scripts/dist does not have %q", want)
		}
	}
	_, installs, _ := strings.Cut(i.one(t, "RUN"), "--no-install-recommends ")
	installs, _, _ = strings.Cut(installs, " &&")
	if include := "--include=" + strings.ReplaceAll(installs, " ", ","); !strings.Contains(script, include) {
		t.Errorf("the image file installs %s, and scripts/dist others", installs)
	}
}

// TestPackage: the Debian package takes what scripts/dist lays out into /usr, where the program finds what is beside it, and needs
// what the image has.
func TestPackage(t *testing.T) {
	var p struct {
		Version  string
		Depends  []string
		Contents []struct{ Src, Dst, Type string }
	}
	if err := yaml.Unmarshal([]byte(readText(t, "nfpm.yaml")), &p); err != nil {
		t.Fatal(err)
	}
	script := readText(t, "../scripts/dist")
	if len(p.Contents) != 1 || p.Contents[0].Dst != "/usr" || p.Contents[0].Type != "tree" || !strings.Contains(script, "\ntree="+p.Contents[0].Src+" ") {
		t.Errorf("the package has %+v", p.Contents)
	}
	for _, laidOut := range []string{"install bin/wiretime $tree/bin/\n", " $tree/lib/wiretime/kernel/\n"} {
		if !strings.Contains(script, laidOut) {
			t.Errorf("scripts/dist does not have %q", laidOut)
		}
	}
	_, installs, _ := strings.Cut(readImage(t).one(t, "RUN"), "--no-install-recommends ")
	installs, _, _ = strings.Cut(installs, " &&")
	for name := range strings.FieldsSeq(installs) {
		if !slices.ContainsFunc(p.Depends, func(d string) bool { return d == name || strings.HasPrefix(d, name+" | ") }) {
			t.Errorf("the package does not depend on %s: %q", name, p.Depends)
		}
	}
	if p.Version != "${VERSION}" || !strings.Contains(script, "VERSION=$version go run $nfpm ") {
		t.Errorf("the package's version is %s, which scripts/dist does not set", p.Version)
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
