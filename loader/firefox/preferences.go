package firefox

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wiretime/sandbox"
)

// preferences are those that differ from Firefox's defaults, in addition to
// those that follow from Options and those that its remote agent sets for
// automation (which stop most contact with its maker's servers). They disable a
// page's hints to preconnect, resolve or prefetch; apart from that none of them
// changes how a page is fetched or rendered.
var preferences = map[string]any{
	// Only the page makes requests.
	"app.normandy.enabled":                            false,
	"app.update.disabledForTesting":                   true,
	"browser.aboutConfig.showWarning":                 false,
	"browser.chrome.site_icons":                       false, // the icon of an unseen tab
	"browser.newtab.preload":                          false,
	"browser.newtabpage.enabled":                      false,
	"browser.places.speculativeConnect.enabled":       false,
	"browser.region.update.enabled":                   false,
	"browser.safebrowsing.blockedURIs.enabled":        false,
	"browser.safebrowsing.downloads.enabled":          false,
	"browser.safebrowsing.malware.enabled":            false,
	"browser.safebrowsing.phishing.enabled":           false,
	"browser.search.update":                           false,
	"browser.shell.checkDefaultBrowser":               false,
	"browser.startup.homepage":                        "about:blank",
	"browser.startup.homepage_override.mstone":        "ignore",
	"browser.startup.page":                            0,
	"browser.urlbar.speculativeConnect.enabled":       false,
	"datareporting.healthreport.uploadEnabled":        false,
	"datareporting.policy.dataSubmissionEnabled":      false,
	"dom.push.connection.enabled":                     false,
	"extensions.systemAddon.update.enabled":           false,
	"extensions.update.enabled":                       false,
	"media.gmp-manager.updateEnabled":                 false,
	"network.http.speculative-parallel-limit":         0,
	"network.captive-portal-service.enabled":          false,
	"network.connectivity-service.enabled":            false,
	"network.dns.disablePrefetch":                     true,
	"network.dns.disablePrefetchFromHTTPS":            true,
	"network.predictor.enabled":                       false,
	"network.prefetch-next":                           false,
	"network.trr.mode":                                5, // no DNS over HTTPS
	"security.OCSP.enabled":                           0,
	"security.certerrors.mitm.priming.enabled":        false,
	"security.remote_settings.crlite_filters.enabled": false,
	"security.remote_settings.intermediates.enabled":  false,
	"services.settings.server":                        "data:,#remote-settings-dummy/v1",
	"toolkit.telemetry.enabled":                       false,
	"toolkit.telemetry.server":                        "",
	"toolkit.telemetry.unified":                       false,

	// The study determines the scheme.
	"dom.security.https_first":                       false,
	"dom.security.https_first_schemeless":            false,
	"dom.security.https_only_mode":                   false,
	"network.stricttransportsecurity.preloadlist":    false, // HSTS-preloaded hosts
	"security.mixed_content.upgrade_display_content": false,

	// Without it Firefox closes HTTP/3 connections whose certificate was not
	// issued by one of its own authorities.
	"network.http.http3.disable_when_third_party_roots_found": false,

	// An unwatched window would take part in the load, and so would printing.
	"dom.disable_open_during_load":      true,
	"privacy.popups.showBrowserMessage": false,
	"print.enabled":                     false,

	// A page's times to the microsecond, not to the millisecond.
	"privacy.reduceTimerPrecision":               false,
	"privacy.reduceTimerPrecision.unconditional": false,

	// How often, in ms, Firefox checks whether it can unload the tab that it has left; this is its default. Its remote agent
	// sets 0 for automation, which repeats the check at once: a few times on the real clock, but 180,000 times per load on the
	// virtual clock, where computing takes no time. Such a load seems to hang there.
	"browser.tabs.remote.unloadDelayMs": 300,

	// Everything kept of a page is kept in memory.
	"browser.cache.disk.enable":              false,
	"browser.sessionstore.interval":          3600_000, // ms
	"browser.sessionstore.resume_from_crash": false,
	"toolkit.startup.max_resumed_crashes":    -1,

	// What pages store by themselves is in the profile, in files.
	"dom.quotaManager.temporaryStorage.fixedLimit": 256 << 10, // KiB
}

// writePreferences writes the profile's preferences.
func writePreferences(o Options) error {
	all := maps.Clone(preferences)
	if !o.Contained || !sandbox.Nests() {
		all["security.sandbox.content.level"] = 0 // Firefox's own sandbox needs rights that not every machine gives
	}
	if len(o.ForceQUIC) > 0 {
		mappings := make([]string, len(o.ForceQUIC))
		for i, host := range o.ForceQUIC {
			name, port, ported := strings.Cut(host, ":")
			if !ported {
				port = "443"
			}
			mappings[i] = name + ";h3=:" + port
		}
		all["network.http.http3.alt-svc-mapping-for-testing"] = strings.Join(mappings, ",")
		// Otherwise it also tries TCP when QUIC has taken 100 ms.
		all["network.http.http3.backup_timer_delay"] = 0
		all["network.http.http3.force-use-alt-svc-mapping-for-testing"] = true
	}
	if o.NoHTTP2 {
		all["network.http.http2.enabled"] = false
	}
	if o.NoQUIC {
		all["network.http.http3.enable"] = false
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value, err := json.Marshal(all[name])
		if err != nil {
			return fmt.Errorf("write preference %s: %w", name, err)
		}
		fmt.Fprintf(&text, "user_pref(%q, %s);\n", name, value)
	}
	if err := os.WriteFile(filepath.Join(o.Folder, "user.js"), []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("write the browser's preferences: %w", err)
	}
	return nil
}
