package kernel

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// source is a tarball of Linux and its origin.
type source struct {
	name   string // Debian package and version, or the file's name
	path   string // empty until it has been fetched
	sha256 string
}

// debianSource is a source package of Debian that is known to work.
type debianSource struct {
	release, version string
	sha256           string // of the tarball in the package
}

// known lists the sources that are known to work, the preferred one first.
var known = []debianSource{
	{"7.3", "7.3.4-1~bpo13+1", "76df1affb19f24926949369be1d74b60071c963c598ce8780bddd4bbf0fc3bc4"},
	{"7.2", "7.2.12-1~bpo13+1", "dd8cf7080e709d050ce2a14ace00d461a1ebb5d877f69fe70232de1818984fac"},
}

// suites lists Debian's suites in the order in which they are searched.
var suites = []string{"trixie-backports", "trixie"}

func (s debianSource) String() string { return "linux-source-" + s.release + " " + s.version }

// tarball checks a file that the user supplied.
func tarball(path, wanted string) (source, error) {
	s := source{name: filepath.Base(path), path: path}
	var err error
	if s.sha256, err = fileSHA256(path); err != nil {
		return s, fmt.Errorf("%w: --source %s: %w", ErrNoSource, path, err)
	}
	for _, k := range known {
		if k.sha256 == s.sha256 {
			s.name = k.String()
		}
	}
	if wanted != "" && !strings.EqualFold(wanted, s.sha256) {
		return s, fmt.Errorf("%w: %s has the SHA-256 %s, want %s: download it again, or correct --sha256", ErrChecksum, path, s.sha256, wanted)
	}
	return s, nil
}

func fileSHA256(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// apt queries the Debian mirror that this machine is configured for, also about other
// suites. It uses its own lists and caches in dir, so the machine's stay unchanged.
type apt struct {
	dir     string
	options []string
}

// aptFolder is the folder, within that of a build, for apt's lists and the source.
const aptFolder = "apt"

// debianKeyring is Debian's own keyring, for machines whose configuration names none.
const debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// newAPT prepares dir for one suite and fetches its lists.
func newAPT(ctx context.Context, dir, mirror, keyring, suite string) (*apt, error) {
	for _, sub := range []string{"lists/partial", "cache/archives/partial", "none", "sources"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("make a private folder for apt: %w", err)
		}
	}
	stanza := "Types: deb\nURIs: " + mirror + "\nSuites: " + suite + "\nComponents: main\nSigned-By: " + keyring + "\n"
	if err := os.WriteFile(filepath.Join(dir, "sources", "debian.sources"), []byte(stanza), 0o644); err != nil {
		return nil, fmt.Errorf("write a private list of sources for apt: %w", err)
	}
	a := &apt{dir: dir, options: []string{
		"-q", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", "Dir::Etc::sourceparts=" + filepath.Join(dir, "sources"),
		"-o", "Dir::Etc::preferences=/dev/null", "-o", "Dir::Etc::preferencesparts=" + filepath.Join(dir, "none"),
		"-o", "Dir::State::lists=" + filepath.Join(dir, "lists"), "-o", "Dir::State::status=/dev/null", "-o", "Dir::Cache=" + filepath.Join(dir, "cache"),
		"-o", "APT::Sandbox::User=root", "-o", "APT::Update::Error-Mode=any", "-o", "Acquire::Languages=none", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=20",
	}}
	if _, err := a.run(ctx, "apt-get", "update"); err != nil {
		return nil, fmt.Errorf("fetch the lists of %s: %w", suite, err)
	}
	return a, nil
}

// debianMirror returns the URL of this machine's Debian mirror and the keyring for its
// signatures.
func debianMirror(ctx context.Context) (mirror, keyring string, err error) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return "", "", errors.New("apt is not installed")
	}
	out, err := output(ctx, "", nil, "apt-get", "indextargets", "--format", "$(REPO_URI) $(SOURCESENTRY)",
		"Created-By: Packages", "Origin: Debian", "Label: Debian")
	if err != nil {
		return "", "", fmt.Errorf("ask apt for its mirrors: %w", err)
	}
	keyring = debianKeyring
	if line, _, _ := strings.Cut(string(out), "\n"); line != "" {
		uri, entry, _ := strings.Cut(line, " ")
		if key := signedBy(entry); key != "" {
			keyring = key
		}
		return uri, keyring, nil
	}
	// Without lists, as in a fresh container, ask what apt would fetch.
	out, err = output(ctx, "", nil, "apt-get", "update", "--print-uris")
	if err != nil {
		return "", "", fmt.Errorf("ask apt for its mirrors: %w", err)
	}
	for _, m := range releaseURI.FindAllStringSubmatch(string(out), -1) {
		if !strings.Contains(m[1], "security") {
			return m[1], keyring, nil
		}
	}
	return "", "", errors.New("apt is not configured for a Debian mirror")
}

var releaseURI = regexp.MustCompile(`(?m)^'([^' ]*/)dists/[^/']*/InRelease'`)

// signedBy reads a keyring's path from the file that one of apt's Sourcesentry values
// names, such as /etc/apt/sources.list.d/debian.sources:1.
func signedBy(entry string) string {
	path, _, _ := strings.Cut(entry, ":")
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	if m := keyringLine.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

var keyringLine = regexp.MustCompile(`(?mi)^Signed-By:\s*(/\S+)`)

func (a *apt) run(ctx context.Context, program string, args ...string) ([]byte, error) {
	return output(ctx, a.dir, nil, program, slices.Concat(a.options, args)...)
}

var releasePackage = regexp.MustCompile(`(?m)^linux-source-(\d+)\.(\d+)$`)

// offers returns the suite's Linux source packages that are new enough. If there are older
// ones, tooOld is the release of one of them.
func (a *apt) offers(ctx context.Context) (offered []debianSource, tooOld string, err error) {
	names, err := a.run(ctx, "apt-cache", "pkgnames", "linux-source-")
	if err != nil {
		return nil, "", fmt.Errorf("list kernel sources: %w", err)
	}
	for _, m := range releasePackage.FindAllStringSubmatch(string(names), -1) {
		release := m[1] + "." + m[2]
		if oldRelease(release) {
			tooOld = release
			continue
		}
		table, err := a.run(ctx, "apt-cache", "madison", "linux-source-"+release)
		if err != nil {
			return nil, "", fmt.Errorf("list versions of linux-source-%s: %w", release, err)
		}
		lines := bufio.NewScanner(bytes.NewReader(table))
		for lines.Scan() { // package | version | where
			if cells := strings.Split(lines.Text(), "|"); len(cells) == 3 {
				offered = append(offered, debianSource{release: release, version: strings.TrimSpace(cells[1])})
			}
		}
	}
	return offered, tooOld, nil
}

// choose returns the first known source that is offered, or else the newest of the first known release, to which our
// patches most likely apply, or else the newest. Of each release the newest version is offered first.
func choose(offered []debianSource) (debianSource, bool) {
	for _, k := range known {
		for _, o := range offered {
			if o.release == k.release && o.version == k.version {
				return k, true
			}
		}
	}
	for _, k := range known {
		for _, o := range offered {
			if o.release == k.release {
				return o, true
			}
		}
	}
	var newest debianSource
	for _, o := range offered {
		if newest.release == "" || releaseNumber(o.release) > releaseNumber(newest.release) {
			newest = o
		}
	}
	return newest, newest.release != ""
}

// releaseNumber orders releases such as 7.2, 7.10 and 7.3.4. It ignores the last number of
// three.
func releaseNumber(release string) int {
	var major, minor int
	_, _ = fmt.Sscanf(release, "%d.%d", &major, &minor) // an invalid number counts as 0, which is too old
	return major*1000 + minor
}

func oldRelease(release string) bool { return releaseNumber(release) < releaseNumber("7.2") }

// findDebianSource fetches the lists of Debian's suites in turn until one has a suitable
// source.
func findDebianSource(ctx context.Context, dir string) (*apt, debianSource, error) {
	mirror, keyring, err := debianMirror(ctx)
	if err != nil {
		return nil, debianSource{}, noSource(err)
	}
	var reasons []error
	for _, suite := range suites {
		a, err := newAPT(ctx, filepath.Join(dir, aptFolder, suite), mirror, keyring, suite)
		if ctx.Err() != nil {
			return nil, debianSource{}, context.Cause(ctx)
		}
		if err != nil {
			reasons = append(reasons, err)
			continue
		}
		offered, tooOld, err := a.offers(ctx)
		if err != nil {
			return nil, debianSource{}, err
		}
		if s, ok := choose(offered); ok {
			return a, s, nil
		}
		if tooOld != "" {
			reasons = append(reasons, fmt.Errorf("%s has only linux-source-%s: %w", suite, tooOld, ErrTooOld))
		} else {
			reasons = append(reasons, fmt.Errorf("%s has no package linux-source-N.M", suite))
		}
	}
	return nil, debianSource{}, noSource(errors.Join(reasons...))
}

func noSource(reason error) error {
	return fmt.Errorf("%w: %w; pass one with 'wiretime kernel build --source linux-N.M.tar.xz'", ErrNoSource, reason)
}

// fetch downloads the package, whose signature apt verifies, and extracts the tarball.
func (a *apt) fetch(ctx context.Context, s debianSource) (source, error) {
	got := source{name: s.String(), path: filepath.Join(a.dir, "linux-source-"+s.release+".tar.xz")}
	if _, err := a.run(ctx, "apt-get", "download", "linux-source-"+s.release+"="+s.version); err != nil {
		return got, fmt.Errorf("%w: download %s: %w", ErrNoSource, s, err)
	}
	packages, err := filepath.Glob(filepath.Join(a.dir, "*.deb"))
	if err != nil || len(packages) != 1 {
		return got, fmt.Errorf("%w: download %s: apt left %d packages", ErrNoSource, s, len(packages))
	}
	if err := extractTarball(ctx, packages[0], "./usr/src/linux-source-"+s.release+".tar.xz", got.path); err != nil {
		return got, fmt.Errorf("%w: extract the tarball from %s: %w", ErrNoSource, filepath.Base(packages[0]), err)
	}
	if err := os.Remove(packages[0]); err != nil {
		return got, err
	}
	if got.sha256, err = fileSHA256(got.path); err != nil {
		return got, err
	}
	if s.sha256 != "" && got.sha256 != s.sha256 {
		return got, fmt.Errorf("%w: the tarball in %s has the SHA-256 %s, want %s: the Debian mirror serves another file under the same version",
			ErrChecksum, s, got.sha256, s.sha256)
	}
	return got, nil
}
