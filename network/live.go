package network

// Live is the name of the network of the live clock: this machine's own, of which nothing is emulated.
const Live = "live"

// LivePath stands for this machine's own network in the cells of the live clock. It has no access links, since nothing
// is known of them.
func LivePath() Path {
	return Path{Name: Live, Note: "This machine's own network and the way from there to the sites. Nothing of it is emulated."}
}
