// Package firefox loads pages with the real Firefox browser, driven by WebDriver
// BiDi over a WebSocket.
//
// One browser serves many loads. Each load has its own user context (a container
// in Firefox's interface) with its own caches, cookies, connections, resolved
// names and TLS sessions, so every load is cold although the browser is warm.
package firefox

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"wiretime/loader/browser"
)

// ErrMissing means that no Firefox was found on this machine.
var ErrMissing = errors.New("no Firefox on this machine")

// Find returns the browser's binary: chosen if it is not empty, otherwise the first of
// browser.FirefoxFiles that exists. It returns an error that wraps ErrMissing if there
// is none.
func Find(chosen string) (string, error) {
	binary, looked := browser.Find(chosen, browser.FirefoxFiles)
	if binary == "" {
		return "", fmt.Errorf("%w: looked for %s; install Debian's package firefox-esr ('make setup-test' does), or name the binary with --firefox",
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
	// Contained keeps the browser to its own folder (browser.Contain).
	Contained bool
	// Dial connects to an address of the client's host, from within it.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Issuer is the certificate, in DER, of an authority to trust beside the browser's own; nil for none.
	Issuer []byte
	// ForceQUIC are the hosts to reach over HTTP/3 at once, without learning of
	// it from an Alt-Svc field or an HTTPS record. A host may have a port behind it; else it is 443.
	ForceQUIC []string
	// NoHTTP2 and NoQUIC keep the browser from using HTTP/2 and HTTP/3 with servers that offer them.
	NoHTTP2, NoQUIC bool
	// Addresses are those of hosts that are not to be looked up.
	Addresses map[string]netip.Addr
	// KeyLog is a file in Folder to which the secrets of the browser's TLS connections are appended in NSS key log
	// format; usually empty.
	KeyLog string
}

// Browser is a running Firefox.
type Browser struct {
	options Options
	process *browser.Process // nil until it has been started
	session *session
	version string
	output  *output

	mu      sync.Mutex
	current *Visit // receives the events
}

// launchLimit is how long a browser may take to start. It ends a browser that hangs: on a machine that does a dozen other
// things, a sound one has taken more than a minute.
const launchLimit = 5 * time.Minute

// Launch starts a browser. It serves loads until Close or a crash; see Alive.
func Launch(ctx context.Context, o Options) (*Browser, error) {
	b := &Browser{options: o, output: newOutput()}
	ctx, cancel := context.WithTimeoutCause(ctx, launchLimit, fmt.Errorf("timed out after %v", launchLimit))
	defer cancel()
	err := b.start(ctx)
	if err != nil {
		_ = b.Close()
		return nil, fmt.Errorf("start the browser %s: %w%s", o.Binary, err, b.output.Hint())
	}
	return b, nil
}

// noSandbox is the environment that turns Firefox's sandboxes off, which the kernel of the virtual clock does not
// support. In the processes for sockets, media and utilities, a handler of SIGSYS emulates some system calls. It expects
// the number of the call in the register RAX, where Linux on x86 puts it. User-Mode Linux leaves -ENOSYS there, and the
// handler then ends the process.
var noSandbox = []string{"MOZ_DISABLE_CONTENT_SANDBOX=1", "MOZ_DISABLE_GMP_SANDBOX=1", "MOZ_DISABLE_RDD_SANDBOX=1",
	"MOZ_DISABLE_SOCKET_PROCESS_SANDBOX=1", "MOZ_DISABLE_UTILITY_SANDBOX=1"}

func (b *Browser) start(ctx context.Context) error {
	if err := writePreferences(b.options); err != nil {
		return err
	}
	folder := b.options.Folder
	command := exec.Command(b.options.Binary, "--headless", "--no-remote", "--profile", folder,
		"--remote-debugging-port", "0", "--remote-allow-system-access", "about:blank")
	own := []string{"HOME=" + folder, "XDG_CONFIG_HOME=" + folder, "XDG_CACHE_HOME=" + folder,
		"MOZ_CRASHREPORTER_DISABLE=1", "MOZ_HEADLESS_WIDTH=1280", "MOZ_HEADLESS_HEIGHT=900",
		"MOZ_REMOTE_SETTINGS_DEVTOOLS=1"} // without it Firefox ignores the preference for its maker's server
	if b.options.KeyLog != "" {
		own = append(own, "SSLKEYLOGFILE="+b.options.KeyLog)
	}
	var err error
	if b.options.Contained {
		command.Env = own
		err = browser.Contain(command, folder)
	} else {
		command.Env = slices.Concat(os.Environ(), own, noSandbox, []string{"TMPDIR=" + folder})
	}
	if err != nil {
		return err
	}
	b.options.Enter(command)
	if b.process, err = browser.Start(command, &b.output.Output); err != nil {
		return err
	}
	select {
	case address := <-b.output.listening:
		b.session, err = connect(ctx, b.options.Dial, address, b.observe)
	case <-b.process.Exited():
		err = fmt.Errorf("it exited with %v", command.ProcessState)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return b.prepare(ctx)
}

// events are the events that a visit needs.
var events = []string{
	"network.beforeRequestSent", "network.responseStarted", "network.responseCompleted", "network.fetchError",
	"browsingContext.navigationStarted", "browsingContext.load", "browsingContext.navigationFailed", "browsingContext.userPromptOpened",
}

// prompts says how dialogs are answered, like [browser.AcceptDialog].
var prompts = object{"alert": "accept", "beforeUnload": "accept", "confirm": "dismiss", "prompt": "dismiss"}

func (b *Browser) prepare(ctx context.Context) error {
	var opened struct {
		Capabilities struct {
			Version string `json:"browserVersion"`
		} `json:"capabilities"`
	}
	if err := b.session.call(ctx, "session.new", object{"capabilities": object{"alwaysMatch": object{"unhandledPromptBehavior": prompts}}}, &opened); err != nil {
		return err
	}
	b.version = opened.Capabilities.Version
	if err := b.session.call(ctx, "session.subscribe", object{"events": events}, nil); err != nil {
		return err
	}
	denied := object{"downloadBehavior": object{"type": "denied"}}
	if err := b.session.call(ctx, "browser.setDownloadBehavior", denied, nil); err != nil {
		return err
	}
	return b.equip(ctx)
}

// prepareScript makes the browser trust an authority's certificate, if there is one, and sets the addresses of hosts. It
// also makes all downloads fail before they begin, where Firefox's parental controls would: by WebDriver BiDi they are cancelled after they have begun, so that
// small files are downloaded.
const prepareScript = `(async () => {
	ChromeUtils.importESModule("resource://gre/modules/DownloadIntegration.sys.mjs").DownloadIntegration.shouldBlockForParentalControls = async () => true;
	const store = Cc["@mozilla.org/security/x509certdb;1"].getService(Ci.nsIX509CertDB);
	const issuer = %q;
	if (issuer) store.addCertFromBase64(issuer, "C,,");
	const addresses = %s;
	if (addresses) {
		const names = Cc["@mozilla.org/network/native-dns-override;1"].getService(Ci.nsINativeDNSResolverOverride);
		for (const host in addresses) names.addIPOverride(host, addresses[host]);
	}
	return "";
})()`

// mappingScript waits until the browser applies its preferences about HTTP/3.
// They require the store of alternative services, which the browser opens for
// its first request and ignores until it has been read. A query of the store
// waits for that.
const mappingScript = `(async () => {
	await fetch("https://127.0.0.1:%d/").catch(() => {}); // nothing listens there
	Services.io.getProtocolHandler("https").QueryInterface(Ci.nsIHttpProtocolHandler).altSvcCacheKeys;
	return "";
})()`

// discard is a port of the client's loopback on which nothing listens.
const discard = 47470

// equip runs scripts in one of the browser's own windows, which have all
// privileges.
func (b *Browser) equip(ctx context.Context) error {
	var tree struct {
		Contexts []struct {
			Context string `json:"context"`
		} `json:"contexts"`
	}
	if err := b.session.call(ctx, "browsingContext.getTree", object{"moz:scope": "chrome", "maxDepth": 0}, &tree); err != nil {
		return err
	}
	if len(tree.Contexts) == 0 {
		return errors.New("the browser has no window")
	}
	window := tree.Contexts[0].Context
	addresses, err := json.Marshal(b.options.Addresses)
	if err != nil {
		return fmt.Errorf("write the hosts' addresses: %w", err)
	}
	script := fmt.Sprintf(prepareScript, base64.StdEncoding.EncodeToString(b.options.Issuer), addresses)
	if _, err := b.session.evaluate(ctx, window, script); err != nil {
		return fmt.Errorf("refuse downloads and trust the certificate authority: %w", err)
	}
	if len(b.options.ForceQUIC) == 0 {
		return nil
	}
	if _, err := b.session.evaluate(ctx, window, fmt.Sprintf(mappingScript, discard)); err != nil {
		return fmt.Errorf("set up HTTP/3: %w", err)
	}
	return nil
}

// observe passes an event to the current visit.
func (b *Browser) observe(method string, params json.RawMessage) {
	b.mu.Lock()
	v := b.current
	b.mu.Unlock()
	if v != nil {
		v.observe(method, params)
	}
}

// Version returns the browser's name and version as it reports them.
func (b *Browser) Version() string { return "Firefox/" + b.version }

// Alive reports whether the browser can serve another load.
func (b *Browser) Alive() bool {
	select {
	case <-b.process.Exited():
		return false
	case <-b.session.done:
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
	if b.session != nil {
		b.session.close()
	}
	if err := os.RemoveAll(b.options.Folder); err != nil {
		return fmt.Errorf("remove the browser's profile %s: %w", filepath.Base(b.options.Folder), err)
	}
	return nil
}
