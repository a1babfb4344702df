package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"wiretime/kernel"
	"wiretime/loader/browser"
	"wiretime/server"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
	"wiretime/workload/pageload"
)

// ProgramOwn is the name of this program in Programs.
const ProgramOwn = "wiretime"

// Other names in Programs.
const (
	programKernel = "kernel"
	programSite   = "site " // and its reference
)

// Programs describes what loads follow from besides the study: this program, browsers and, unless it is the zero value, the kernel
// of the virtual clock by their SHA-256, other people's servers by their versions, and sites by the SHA-256 of their
// descriptions, which names that of each body.
func Programs(ctx context.Context, b Browsers, servers []string, k kernel.Kernel, sites map[string]*site.Site) (map[string]string, error) {
	all := map[string]string{}
	described := map[string]struct{ file, version string }{ProgramOwn: {"/proc/self/exe", Version()}}
	if k.Path != "" {
		described[programKernel] = struct{ file, version string }{k.Path, "Linux " + k.Version}
	}
	for name, of := range described {
		sum, err := SumFile(of.file)
		if err != nil {
			return nil, fmt.Errorf("find the checksum of program %s: %w", name, err)
		}
		all[name] = of.version + ", SHA-256 " + sum
	}
	for loader, binary := range map[string]string{pageload.Chromium: b.Chromium, pageload.Firefox: b.Firefox} {
		if binary == "" {
			continue
		}
		version, err := browser.Version(ctx, binary)
		if err != nil {
			return nil, err
		}
		sum, err := SumFile(binary) // distributions build the same version differently
		if err != nil {
			return nil, fmt.Errorf("find the checksum of program %s: %w", loader, err)
		}
		all[loader] = version + ", SHA-256 " + sum
	}
	for _, name := range servers {
		version, err := serverVersion(ctx, name)
		if err == nil {
			all[name] = version
		} else if !errors.Is(err, server.ErrMissing) {
			return nil, err
		}
	}
	sums, err := siteSums(sites)
	for reference, sum := range sums {
		all[programSite+reference] = sum
	}
	return all, err
}

// siteSums returns the SHA-256 of the sites' descriptions, which name that of each body, by reference.
func siteSums(sites map[string]*site.Site) (map[string]string, error) {
	sums := map[string]string{}
	for reference, s := range sites {
		description, err := json.Marshal(s)
		if err != nil {
			return nil, fmt.Errorf("describe site %s: %w", reference, err)
		}
		sums[reference] = "SHA-256 " + site.Hash(description)
	}
	return sums, nil
}

// WithSites adds the checksums of the sites to a run's environment if it has cells on another clock than the virtual one. Loads on that
// clock name their sites' checksums themselves.
func WithSites(environment json.RawMessage, cells []study.Cell, sites map[string]*site.Site) (json.RawMessage, error) {
	if len(sites) == 0 || !slices.ContainsFunc(cells, func(c study.Cell) bool { return c.Clock() != study.ClockVirtual }) {
		return environment, nil
	}
	sums, err := siteSums(sites)
	if err != nil {
		return nil, err
	}
	return AddToEnvironment(environment, map[string]any{study.SitesKey: sums})
}

// SumFile returns the SHA-256 of a file, in hexadecimal.
func SumFile(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// ProgramsOf returns those programs that loads of a cell follow from.
func ProgramsOf(all map[string]string, c study.Cell) map[string]string {
	of := maps.Clone(all)
	maps.DeleteFunc(of, func(name, _ string) bool {
		return name != ProgramOwn && name != programKernel && !strings.HasPrefix(name, programSite) && name != c.By() && name != c.On(study.AxisServer)
	})
	return of
}

// ProgramDifference is a program that is not the same as when a load was made. A description is
// empty where there was, or is, no such program.
type ProgramDifference struct{ Name, Then, Now string }

// ComparePrograms compares the programs that made a load with those of now (Programs), by name. made is nil if the store is of
// a version that did not keep them; then made by another program is all that can be said.
func ComparePrograms(l store.Load, made *store.Making, now map[string]string) []ProgramDifference {
	if made == nil {
		return []ProgramDifference{{ProgramOwn, "an earlier version, which stored no checksums", now[ProgramOwn]}}
	}
	return CompareProgramLists(made.Programs, ProgramsOf(now, l.Cell))
}

// CompareProgramLists compares two descriptions (Programs), by name, of the programs in the first one.
func CompareProgramLists(then, now map[string]string) (all []ProgramDifference) {
	for _, name := range slices.Sorted(maps.Keys(then)) {
		if then[name] != now[name] {
			all = append(all, ProgramDifference{name, then[name], now[name]})
		}
	}
	return all
}
