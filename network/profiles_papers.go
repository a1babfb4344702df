package network

import (
	"fmt"
	"time"
)

const (
	kimSource = "Kim, Yi, Lee: A Research on the Performance Analysis of SPDY Protocol in Mobile Networks, Kyung Hee University, 2013, tables 2-4, "
	kim3GNote = "The paper prints one rate per place and no RTT. The rate is taken as the downlink's, the uplink as half of it " +
		"(about the proportion of WebPageTest's 3G). The RTT is Wiretime's choice inside the 100 to 500 ms that Grigorik, High Performance " +
		"Browser Networking, O'Reilly 2013, table 7-2, gives for 3G: "
	kimWLANNote = "The paper prints one rate per place and no RTT. The rate is taken for both directions, which share the radio channel. " +
		"The RTT is Wiretime's choice for a campus WLAN and a server in the same country. Tables 2 to 4 do not settle it: they are of 100 " +
		"loads in one browser session, nearly all of them warm, so their fastest load of a 2.3 MB page, 0.53 s at 61.12 Mbit/s, did not carry " +
		"the page. Asking for it anew with validators takes 5 round trips with SPDY and 9 without, so 0.1 s for one is the most; "
	kimCaution = " The fastest loads of tables 2 to 4 are warm ones, of 100 in one browser session, and carried little of the page (2.27 s for " +
		"Google Play with SPDY at 0.90 Mbit/s). With this profile's RTT warm loads are several times faster than the paper's: at 0.90 Mbit/s " +
		"those would take an RTT of 0.4 to 0.85 s, or as much time of servers and browser, which the paper does not tell apart. Its slowest " +
		"loads are the cold ones, which these rates come near."
)

// kim2013 holds the places of Kim et al., by signal strength, with the rates
// printed for Chromium and, apart, for Firefox.
var kim2013 = []figures{
	{name: "3g-weak", access: "3g", source: kimSource + "Chromium, 3G, weak signal", note: kim3GNote + "150 ms." + kimCaution, down: 900 * kbit, up: 450 * kbit, rtt: 150 * time.Millisecond},
	{name: "3g-good", access: "3g", source: kimSource + "Chromium, 3G, good signal", note: kim3GNote + "100 ms." + kimCaution, down: 1370 * kbit, up: 685 * kbit, rtt: 100 * time.Millisecond},
	{name: "wlan-weak", access: "wlan", source: kimSource + "Chromium, WLAN, weak signal", note: kimWLANNote + "30 ms.", down: 17_040 * kbit, up: 17_040 * kbit, rtt: 30 * time.Millisecond},
	{name: "wlan-good", access: "wlan", source: kimSource + "Chromium, WLAN, good signal", note: kimWLANNote + "20 ms.", down: 61_120 * kbit, up: 61_120 * kbit, rtt: 20 * time.Millisecond},
	{name: "3g-weak-firefox", access: "3g", source: kimSource + "Firefox, 3G, weak signal", note: kim3GNote + "150 ms." + kimCaution, down: 880 * kbit, up: 440 * kbit, rtt: 150 * time.Millisecond},
	{name: "3g-good-firefox", access: "3g", source: kimSource + "Firefox, 3G, good signal", note: kim3GNote + "100 ms." + kimCaution, down: 1460 * kbit, up: 730 * kbit, rtt: 100 * time.Millisecond},
	{name: "wlan-weak-firefox", access: "wlan", source: kimSource + "Firefox, WLAN, weak signal", note: kimWLANNote + "30 ms.", down: 12_840 * kbit, up: 12_840 * kbit, rtt: 30 * time.Millisecond},
	{name: "wlan-good-firefox", access: "wlan", source: kimSource + "Firefox, WLAN, good signal", note: kimWLANNote + "20 ms.", down: 25_960 * kbit, up: 25_960 * kbit, rtt: 20 * time.Millisecond},
}

// nam2021 returns the page load experiment of Nam et al. under both readings of its delay:
// as the round trip's, and as each direction's.
func nam2021() []figures {
	var all []figures
	for _, reading := range []struct {
		rtt  int // ms
		note string
	}{
		{200, "read here as that of the round trip; quic-400ms-* have it as that of each direction. "},
		{400, "read here as that of each direction, as tc sets it where both hosts use it (section 4.1 says that both do); quic-200ms-* have it as that of the round trip. "},
	} {
		for _, percent := range []int{0, 5, 10, 15, 20} {
			all = append(all, figures{
				name: fmt.Sprintf("quic-%dms-loss%d", reading.rtt, percent), access: "wlan",
				source: "Nam, Jung, Choi, Koh: Performance Analysis of QUIC Protocol for Web and Streaming Services, " +
					"KIPS Transactions on Computer and Communication Systems 10(5), 2021, section 3, figure 5",
				note: "The paper sets a delay of 200 ms between client and server, " + reading.note +
					"Its text gives packet error rates up to 20 %, not the steps between: 0, 5, 10, 15 and 20 % are Wiretime's, in each direction independently. " +
					"It prints no rate: 50 Mbit/s each way is Wiretime's choice for its WLAN hop and does not bind its small page.",
				down: 50 * mbit, up: 50 * mbit, rtt: time.Duration(reading.rtt) * time.Millisecond, loss: float64(percent) / 100,
			})
		}
	}
	return all
}

// perlSource is the paper of a SPDY client's author.
const perlSource = "Kolmogortsev: Testing the performance of the web protocol SPDY with an own client (in Russian, undated, about 2011), section Testing"

// kolmogortsev holds the access line of that author: as he measured it, and as his times have it.
var kolmogortsev = []figures{
	{
		name: "perl-237ms", access: "wired", source: perlSource,
		note: "Measured by the author to encrypted.google.com: ping 237 ms, download 6.51 Mbit/s, upload 4.3 Mbit/s, on a line sold as 20 Mbit/s.",
		down: 6_510 * kbit, up: 4_300 * kbit, rtt: 237 * time.Millisecond,
	},
	{
		name: "perl-73ms", access: "wired", source: perlSource,
		note: "The line as it was sold, 20 Mbit/s in both directions, with the round trip that table 1 suggests: each page of 70 kB took 0.45 s over a " +
			"connection of its own, which over TLS 1.2 is 6.2 round trips, if the server took no time.",
		down: 20 * mbit, up: 20 * mbit, rtt: 73 * time.Millisecond,
	},
	{
		name: "perl-87ms", access: "wired", source: perlSource,
		note: "As perl-73ms, for TLS 1.3, over which a page takes 5.2 round trips.",
		down: 20 * mbit, up: 20 * mbit, rtt: 87 * time.Millisecond,
	},
}

// lulic2013 holds the grid of Lulic's first experiment: 7 rates by 6 RTTs.
func lulic2013() []figures {
	var all []figures
	for _, rate := range []BitRate{100, 256, 512, 1024, 2048, 5120, 10240} {
		for _, rtt := range []int{10, 50, 100, 200, 250, 500} {
			all = append(all, figures{
				name: fmt.Sprintf("lulic-%dk-%dms", rate, rtt), access: "wired",
				source: "Lulic: Midiendo la Performance de SPDY, 2013, section 4.2, table of rates and delays",
				note: "The paper's table calls the delay RTT, so half of it lies in each direction, and its rate is given to each direction. " +
					"Its dummynet rule (pipe 1 ip from any to any) sends both directions through one pipe, whose delay each passage adds " +
					"and whose rate both share; if the table's figure was typed as the pipe's delay, the paper's RTT was at least twice the one here.",
				down: rate * kbit, up: rate * kbit, rtt: time.Duration(rtt) * time.Millisecond,
				queue: &Queue{Packets: 50},
			})
		}
	}
	return all
}
