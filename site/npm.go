package site

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"wiretime/atomicfile"
	"wiretime/beside"
	"wiretime/process"
	"wiretime/scratch"
)

// npmPackage is an npm package, pinned by the integrity that the registry publishes for it.
type npmPackage struct {
	name, version string
	sha512        string // base64, the part of the integrity after "sha512-"
}

var flagsPackage = npmPackage{
	name:    "svg-country-flags",
	version: "1.2.10",
	sha512:  "xrqwo0TYf/h2cfPvGpjdSuSguUbri4vNNizBnwzoZnX0xGo3O5nGJMlbYEp7NOYcnPGBm6LE2axqDWSB847bLw==",
}

func (p npmPackage) String() string { return "npm package " + p.name + "@" + p.version }

// file returns the name that the npm client gives the packed package.
func (p npmPackage) file() string { return p.name + "-" + p.version + ".tgz" }

// fetch returns the package as a gzipped tar archive, from beside the program, where a release
// has it, from the folder cache or through the npm client. It returns or keeps only data that has
// the pinned integrity.
func (p npmPackage) fetch(ctx context.Context, cache string) ([]byte, error) {
	if cache == "" {
		return nil, fmt.Errorf("fetch %s: there is no folder to keep it in", p)
	}
	released, err := beside.Path(p.file())
	if err != nil {
		return nil, err
	}
	cache, err = filepath.Abs(cache) // npm runs in a folder of its own
	if err != nil {
		return nil, err
	}
	for _, kept := range []string{released, filepath.Join(cache, p.file())} {
		data, err := os.ReadFile(kept)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the fetched %s: %w", p, err)
		}
		if err := p.verify(data); err != nil {
			return nil, fmt.Errorf("check %s: %w: remove the file to fetch it again", kept, err)
		}
		return data, nil
	}
	return p.download(ctx, cache)
}

func (p npmPackage) download(ctx context.Context, cache string) (data []byte, err error) {
	kept := filepath.Join(cache, p.file())
	defer func() {
		if err != nil {
			err = fmt.Errorf("fetch %s: %w", p, err)
		}
	}()
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, fmt.Errorf("%w: install npm, or put the package there yourself as %s", err, kept)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	folder, err := scratch.Make(cache, ".unfinished-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	temp := folder.Path

	// The user may have no home folder, so npm's own cache goes to the temporary folder too.
	command := exec.CommandContext(ctx, npm, "pack", p.name+"@"+p.version,
		"--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error",
		"--fetch-retries=1", "--cache="+filepath.Join(temp, "npm"))
	command.Dir = temp
	command.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	command.Stderr = &stderr
	if err := process.Run(command); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("npm pack: %w: %s: go online and try again, or put the package there yourself as %s",
			err, firstLines(stderr.String(), 3), kept)
	}
	fetched := filepath.Join(temp, p.file())
	if data, err = os.ReadFile(fetched); err != nil {
		return nil, err
	}
	if err := p.verify(data); err != nil {
		return nil, fmt.Errorf("%w: npm's registry served another package; check npm's configuration", err)
	}
	return data, atomicfile.WriteBytes(kept, data)
}

func (p npmPackage) verify(data []byte) error {
	sum := sha512.Sum512(data)
	if got := base64.StdEncoding.EncodeToString(sum[:]); got != p.sha512 {
		return fmt.Errorf("integrity mismatch: got sha512-%s, want sha512-%s", got, p.sha512)
	}
	return nil
}

func firstLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[:min(n, len(lines))], "; ")
}
