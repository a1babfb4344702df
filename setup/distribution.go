package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Distribution describes a machine's Linux distribution: how packages are installed and
// what they are called.
type Distribution struct {
	Name    string   // as the distribution calls itself
	family  family   // whose packages it has
	install []string // the command that packages are installed with, before their names; nil if it is unknown
}

// family is a group of distributions that use the same package names.
type family int

const (
	unknown family = iota
	debian
	ubuntu
	fedora
	arch
	alpine
)

// families maps the known IDs of os-release(5) to distributions.
var families = map[string]struct {
	family  family
	install string
}{
	"debian": {debian, "apt-get install --no-install-recommends"},
	"ubuntu": {ubuntu, "apt-get install --no-install-recommends"},
	"fedora": {fedora, "dnf install"},
	"arch":   {arch, "pacman -S --needed"},
	"alpine": {alpine, "apk add"},
}

// ReadDistribution identifies the distribution from a file such as /etc/os-release. If the
// file is missing or names an unknown distribution, it returns a generic Distribution.
func ReadDistribution(osRelease string) (Distribution, error) {
	text, err := os.ReadFile(osRelease)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Distribution{}, fmt.Errorf("identify this machine's distribution: %w", err)
	}
	return parseDistribution(string(text)), nil
}

func parseDistribution(text string) Distribution {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			fields[key] = strings.Trim(value, `"'`)
		}
	}
	d := Distribution{Name: "this distribution"}
	if fields["NAME"] != "" {
		d.Name = fields["NAME"]
	}
	for _, id := range append([]string{fields["ID"]}, strings.Fields(fields["ID_LIKE"])...) {
		if known, ok := families[id]; ok {
			d.family, d.install = known.family, strings.Fields(known.install)
			break
		}
	}
	return d
}

// hasAPT reports whether this program can install packages with apt.
func (d Distribution) hasAPT() bool { return d.family == debian || d.family == ubuntu }
