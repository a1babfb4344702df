// Package chromium loads pages with the real Chromium browser, driven by the
// Chrome DevTools Protocol over a pipe.
//
// One browser serves many loads. Each load has a BrowserContext of its own, a
// profile in memory with empty caches, no connections, no resolved names and no
// TLS sessions, so every load is cold although the browser is warm.
package chromium

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"

	"wiretime/loader/browser"
)

// Binaries are where Find looks for the browser, best first. The headless shell
// is Chromium without the parts around the page (windows, extensions, settings)
// and leaves more of a small machine to the load. Distributions' wrapper
// scripts are passed over: they add flags of their own.
var Binaries = []string{
	"/usr/lib/chromium/chromium-headless-shell",
	"/usr/lib/chromium/chromium",
	"/usr/lib/chromium-browser/chromium-browser",
	"/opt/google/chrome/chrome",
}

// ErrMissing means that no Chromium was found on this machine.
var ErrMissing = errors.New("no Chromium on this machine")

// Find returns the browser's binary: chosen if it is not empty, otherwise the
// first of Binaries that is there. It returns an error that wraps ErrMissing
// if there is none.
func Find(chosen string) (string, error) {
	binary, looked := browser.Find(chosen, Binaries)
	if binary == "" {
		return "", fmt.Errorf("%w: looked for %s; install Debian's package chromium-headless-shell or chromium ('make setup' does), or name the binary with --chromium",
			ErrMissing, looked)
	}
	return binary, nil
}

// Options say how a browser is started.
type Options struct {
	// Binary is the browser's program, as Find returns it.
	Binary string
	// Folder receives the browser's profile; it must not be used by another.
	Folder string
	// Enter arranges for the browser to run on the client's host.
	Enter func(*exec.Cmd)
	// SPKIHash is the base64 SHA-256 of a public key; certificate chains that
	// contain it are trusted, over TCP and QUIC alike.
	SPKIHash string
	// ForceQUIC are the hosts that are to be reached over HTTP/3 at once,
	// without first learning of it from an Alt-Svc field or an HTTPS record.
	ForceQUIC []string
}

// Browser is a running Chromium.
type Browser struct {
	context context.Context
	cancel  func()
	options Options
	version string
	output  *browser.Output
}

// launchLimit bounds how long a browser may take to start.
const launchLimit = 60 * time.Second

// flags are the browser's switches, beside those that Options decide. None of
// them changes how a page is fetched or rendered: they keep the browser from
// speaking to its maker's servers and from slowing down pages that no one
// looks at.
var flags = map[string]any{
	"headless":                               true,
	"no-sandbox":                             true, // the pages are ours, and a sandbox needs rights a user namespace may not give
	"no-first-run":                           true,
	"no-default-browser-check":               true,
	"no-pings":                               true,
	"mute-audio":                             true,
	"hide-scrollbars":                        true,
	"disable-gpu":                            true,
	"disable-background-networking":          true,
	"disable-background-timer-throttling":    true,
	"disable-backgrounding-occluded-windows": true,
	"disable-breakpad":                       true,
	"disable-client-side-phishing-detection": true,
	"disable-component-update":               true,
	"disable-default-apps":                   true,
	"disable-domain-reliability":             true,
	"disable-extensions":                     true,
	"disable-popup-blocking":                 true,
	"disable-renderer-backgrounding":         true,
	"disable-sync":                           true,
	"metrics-recording-only":                 true,
	"password-store":                         "basic",
	"window-size":                            "1280,800",
	// HttpsUpgrades would try https first for a page the study asks for in the
	// clear; the others fetch things nobody asked for.
	"disable-features": "HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,Translate,MediaRouter,OptimizationHints,InterestFeedContentSuggestions",
}

// Launch starts a browser. It serves loads until Close, or until it crashes,
// which Alive tells.
func Launch(ctx context.Context, o Options) (*Browser, error) {
	b := &Browser{options: o, output: &browser.Output{}}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(o.Binary),
		chromedp.UserDataDir(o.Folder),
		chromedp.Env("HOME="+o.Folder, "XDG_CONFIG_HOME="+o.Folder, "XDG_CACHE_HOME="+o.Folder),
		chromedp.CombinedOutput(b.output),
		chromedp.ModifyCmdFunc(func(command *exec.Cmd) {
			command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
			o.Enter(command)
		}),
		chromedp.Flag("ignore-certificate-errors-spki-list", o.SPKIHash),
	}
	for name, value := range flags {
		options = append(options, chromedp.Flag(name, value))
	}
	if len(o.ForceQUIC) > 0 {
		origins := make([]string, len(o.ForceQUIC))
		for i, host := range o.ForceQUIC {
			origins[i] = host + ":443"
		}
		options = append(options, chromedp.Flag("origin-to-force-quic-on", strings.Join(origins, ",")))
	}

	allocator, endAllocator := chromedp.NewExecAllocator(context.WithoutCancel(ctx), options...)
	browser, endBrowser := chromedp.NewContext(allocator)
	b.context, b.cancel = browser, func() { endBrowser(); endAllocator() }

	started := make(chan error, 1)
	go func() { started <- b.start() }()
	var err error
	select {
	case err = <-started:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(launchLimit):
		err = fmt.Errorf("it did not answer within %v", launchLimit)
	}
	if err != nil {
		_ = b.Close()
		return nil, fmt.Errorf("start the browser %s: %w%s", o.Binary, err, b.output.Hint())
	}
	return b, nil
}

func (b *Browser) start() error {
	if err := chromedp.Do(b.context); err != nil {
		return err
	}
	v, err := chromedp.CallBrowser(b.context, cdpbrowser.GetVersion, cdp.Empty{})
	if err != nil {
		return fmt.Errorf("ask for the version: %w", err)
	}
	b.version = v.Product
	return nil
}

// Version is the browser's name and version as it reports them.
func (b *Browser) Version() string { return b.version }

// Alive says whether the browser can serve another load.
func (b *Browser) Alive() bool { return b.context.Err() == nil }

// Close ends the browser and all its processes and removes its profile.
func (b *Browser) Close() error {
	b.cancel()
	if c := chromedp.FromContext(b.context); c != nil && c.Browser != nil {
		if p := c.Browser.Process(); p != nil {
			// Renderers of a browser that crashed may have stayed behind.
			_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
			browser.Reap(p.Pid)
		}
	}
	if err := os.RemoveAll(b.options.Folder); err != nil {
		return fmt.Errorf("remove the browser's profile %s: %w", filepath.Base(b.options.Folder), err)
	}
	return nil
}

// Version asks a browser's binary for its name and version.
func Version(ctx context.Context, binary string) (string, error) {
	out, err := exec.CommandContext(ctx, binary, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", binary, err)
	}
	return strings.TrimSpace(string(out)), nil
}
