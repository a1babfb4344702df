// Package chromium loads pages with the real Chromium browser, driven by the
// Chrome DevTools Protocol over a pipe.
//
// One browser serves many loads. Each load has its own BrowserContext, a
// profile in memory with empty caches, no connections, no resolved names and no
// TLS sessions, so every load is cold although the browser is warm.
package chromium

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"wiretime/loader/browser"
	"wiretime/sandbox"
)

// ErrMissing means that no Chromium was found on this machine.
var ErrMissing = errors.New("no Chromium on this machine")

// Find returns the browser's binary: chosen if it is not empty, otherwise the first that
// browser.FindChromium finds. It returns an error that wraps ErrMissing if there is none.
func Find(chosen string) (string, error) {
	binary, looked := browser.FindChromium(chosen)
	if binary == "" {
		return "", fmt.Errorf("%w: looked for %s; 'make setup' installs one or says how, or name the binary with --chromium",
			ErrMissing, looked)
	}
	return binary, nil
}

// Options say how a browser is started.
type Options struct {
	// Binary is the browser's program, as returned by Find.
	Binary string
	// Folder receives the browser's profile; no other browser may use it.
	Folder string
	// Enter makes the browser run on the client's host.
	Enter func(*exec.Cmd)
	// Contained keeps the browser to its own folder (browser.Contain). Guests, whose whole kernel is contained,
	// do without.
	Contained bool
	// SPKIHash is the base64 SHA-256 of a public key; certificate chains that
	// contain it are trusted, over TCP and QUIC alike.
	SPKIHash string
	// ForceQUIC are the hosts to reach over HTTP/3 at once, without learning of
	// it from an Alt-Svc field or an HTTPS record. A host may have a port behind it; else it is 443.
	ForceQUIC []string
	// NoHTTP2 and NoQUIC keep the browser from using HTTP/2 and HTTP/3 with servers that offer them.
	NoHTTP2, NoQUIC bool
	// HostRules maps hosts to other addresses, in the syntax of Chromium's --host-resolver-rules.
	HostRules string
	// KeyLog is a file in Folder to which the secrets of the browser's TLS connections, over TCP and
	// QUIC, are appended in NSS key log format; usually empty. It is for servers outside
	// the lab, which do not export their secrets.
	KeyLog string
	// Stacks makes the browser report which script made a request. It watches all scripts
	// for that and slows them down, so it is not for measured loads.
	Stacks bool
	// MaxMessage is the size of the browser's largest message, in octets; 0 means [browser.MaxMessage]. A body
	// comes in one message.
	MaxMessage int
}

// Browser is a running Chromium.
type Browser struct {
	options Options
	pipe    *connection
	process *browser.Process // nil until it has been started
	version string
	output  *browser.Output

	watching sync.Mutex
	visits   map[cdp.BrowserContextID]*Visit
}

// launchLimit is how long a browser may take to start. It ends a browser that hangs: on a machine that does a dozen other
// things, a sound one has taken more than a minute.
const launchLimit = 5 * time.Minute

// flags are the browser's switches in addition to those that follow from
// Options. None of them changes how a page is fetched or rendered: they keep
// the browser from contacting its maker's servers and from throttling unwatched
// pages.
var flags = map[string]string{
	"headless":                               "",
	"block-new-web-contents":                 "", // as browsers do where no user has clicked: a window that nobody watches would hold up its opener
	"no-first-run":                           "",
	"no-default-browser-check":               "",
	"no-pings":                               "",
	"mute-audio":                             "",
	"hide-scrollbars":                        "",
	"disable-gpu":                            "",
	"disable-background-networking":          "",
	"disable-background-timer-throttling":    "",
	"disable-backgrounding-occluded-windows": "",
	"disable-breakpad":                       "",
	"disable-client-side-phishing-detection": "",
	"disable-component-update":               "",
	"disable-default-apps":                   "",
	"disable-domain-reliability":             "",
	"disable-extensions":                     "",
	"disable-renderer-backgrounding":         "",
	"disable-sync":                           "",
	"metrics-recording-only":                 "",
	"remote-debugging-pipe":                  "",
	"password-store":                         "basic",
	"window-size":                            "1280,800",
	// HttpsUpgrades would try https first for a page that the study requests
	// without TLS; the others fetch things that no page requested.
	"disable-features": "HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,Translate,MediaRouter,OptimizationHints,InterestFeedContentSuggestions",
	// Chromium has a list of HSTS-preloaded hosts (RFC 6797). With this feature it
	// applies the list to pages only, not to their subresources.
	"enable-features": "HstsTopLevelNavigationsOnly",
}

// noRDRAND keeps the browser's BoringSSL from using the processor's random numbers, which
// it does on Intel's: they decide the length of a ClientHello, and a guest of the virtual
// clock cannot control them. Bit 62 is CPUID's bit for RDRAND, as BoringSSL's
// crypto/cpu_intel.cc reads the variable.
const noRDRAND = "OPENSSL_ia32cap=~0x4000000000000000"

// timeZone is the time zone that pages see on every machine. Without it each of the browser's processes compares all
// files of the zone database with /etc/localtime, which guests of the virtual clock do not have.
const timeZone = "TZ=UTC"

// Launch starts a browser. It serves loads until Close or a crash; see Alive.
func Launch(ctx context.Context, o Options) (*Browser, error) {
	b := &Browser{options: o, output: &browser.Output{}, visits: map[cdp.BrowserContextID]*Visit{}}
	ctx, cancel := context.WithTimeoutCause(ctx, launchLimit, fmt.Errorf("timed out after %v", launchLimit))
	defer cancel()
	if err := b.start(ctx); err != nil {
		_ = b.Close()
		return nil, fmt.Errorf("start the browser %s: %w%s", o.Binary, err, b.output.Hint())
	}
	return b, nil
}

func (b *Browser) start(ctx context.Context) error {
	commands, out, err := os.Pipe()
	if err != nil {
		return err
	}
	in, events, err := os.Pipe()
	if err != nil {
		return errors.Join(err, commands.Close(), out.Close())
	}
	folder := b.options.Folder
	command := exec.Command(b.options.Binary, b.options.arguments()...)
	command.ExtraFiles = []*os.File{commands, events} // descriptors 3 and 4
	own := []string{"HOME=" + folder, "XDG_CONFIG_HOME=" + folder, "XDG_CACHE_HOME=" + folder, noRDRAND, timeZone}
	if b.options.Contained {
		command.Env = own
		err = browser.Contain(command, folder)
	} else {
		command.Env = append(os.Environ(), own...)
	}
	if err == nil {
		b.options.Enter(command)
		b.process, err = browser.Start(command, b.output)
	}
	// Only the browser keeps its own ends.
	err = errors.Join(err, commands.Close(), events.Close())
	if err != nil {
		return errors.Join(err, out.Close(), in.Close())
	}
	b.pipe = newConnection(in, out, cmp.Or(b.options.MaxMessage, browser.MaxMessage))
	return b.prepare(ctx)
}

// arguments returns the browser's command line.
func (o Options) arguments() []string {
	all := maps.Clone(flags)
	all["user-data-dir"] = o.Folder
	if !o.Contained || !sandbox.Nests() {
		all["no-sandbox"] = "" // Chromium's own sandbox needs rights that not every machine gives, and guests have only root
	}
	if o.Contained {
		all["disable-dev-shm-usage"] = "" // shared memory goes to the browser's own folder
	}
	if o.SPKIHash != "" {
		all["ignore-certificate-errors-spki-list"] = o.SPKIHash
	}
	if o.KeyLog != "" {
		all["ssl-key-log-file"] = o.KeyLog
	}
	if len(o.ForceQUIC) > 0 {
		origins := make([]string, len(o.ForceQUIC))
		for i, host := range o.ForceQUIC {
			if origins[i] = host; !strings.Contains(host, ":") {
				origins[i] = host + ":443"
			}
		}
		all["origin-to-force-quic-on"] = strings.Join(origins, ",")
	}
	if o.NoHTTP2 {
		all["disable-http2"] = ""
	}
	if o.NoQUIC {
		all["disable-quic"] = ""
	}
	if o.HostRules != "" {
		all["host-resolver-rules"] = o.HostRules
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		argument := "--" + name
		if all[name] != "" {
			argument += "=" + all[name]
		}
		list = append(list, argument)
	}
	return append(list, "about:blank")
}

func (b *Browser) prepare(ctx context.Context) error {
	whole := session{connection: b.pipe}
	version, err := call(ctx, whole, cdpbrowser.GetVersion, cdp.Empty{})
	if err != nil {
		return err
	}
	b.version = version.Product
	b.pipe.hear("", b.observe)
	_, err = call(ctx, whole, target.SetAutoAttach, sharedWorkers)
	return err
}

// Version returns the browser's name and version as it reports them.
func (b *Browser) Version() string { return b.version }

// Alive reports whether the browser can serve another load.
func (b *Browser) Alive() bool {
	select {
	case <-b.process.Exited():
		return false
	case <-b.pipe.done:
		return false
	default:
		return true
	}
}

// Close ends the browser and all its processes and removes its profile.
func (b *Browser) Close() error {
	if b.process != nil {
		b.process.Kill()
	}
	if b.pipe != nil {
		b.pipe.close()
	}
	if err := os.RemoveAll(b.options.Folder); err != nil {
		return fmt.Errorf("remove the browser's profile %s: %w", filepath.Base(b.options.Folder), err)
	}
	return nil
}
