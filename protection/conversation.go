package protection

// Conversation decrypts the packets of both ends of a QUIC version 1 connection. Early data stays encrypted,
// because Go servers do not log its secret. A Conversation is for one goroutine at a time.
type Conversation struct {
	ALPN string // the negotiated protocol, empty until the server has sent it
	// Transport holds the transport parameters of the client and of the server (RFC 9000 section 18), nil until
	// they have been read.
	Transport [2][]byte

	keys      KeyLog
	suite     *Suite
	secrets   map[string][]byte
	openers   [2][4]*PacketKeys      // by sender and level
	greetings [2]map[Level]*Assembly // the TLS handshake, by sender and level
	idLengths [2]int                 // of the connection IDs in packets of each sender
}

// NewConversation returns a Conversation that looks up its secrets in a key log.
func NewConversation(keys KeyLog) *Conversation {
	return &Conversation{keys: keys, greetings: [2]map[Level]*Assembly{{}, {}}}
}

// Opened is a QUIC packet without its protection.
type Opened struct {
	Level   Level
	Number  uint64
	Payload []byte // its frames, valid until the next packet is opened
}

// Datagram decrypts the packets of a datagram that the client (0) or the server (1) sent, and calls visit for each packet
// that it can decrypt. It returns the number of packets that stayed encrypted. Datagrams must come in the order in which they
// were sent.
func (c *Conversation) Datagram(sender int, datagram []byte, visit func(Opened)) (sealed int) {
	for len(datagram) > 0 {
		parsed, rest, ok := ParsePacket(datagram, c.idLengths[sender])
		if !ok {
			return sealed
		}
		datagram = rest
		if parsed.Level != Application {
			c.idLengths[1-sender] = len(parsed.Source) // packets to a sender carry the ID that it chose
		}
		if sender == 0 && parsed.Level == Initial && c.openers[0][Initial] == nil {
			c.openers[0][Initial], c.openers[1][Initial] = InitialKeys(parsed.Destination)
		}
		keys := c.openers[sender][parsed.Level]
		if keys == nil {
			sealed++
			continue
		}
		frames, ok := keys.Open(parsed)
		if !ok {
			sealed++
			continue
		}
		for f := range Frames(frames) {
			if f.Kind == Crypto && parsed.Level != Application {
				c.handshake(sender, parsed.Level, f.Offset, f.Data)
			}
		}
		visit(Opened{parsed.Level, keys.number, frames})
	}
	return sealed
}

// handshake adds octets of the TLS handshake, and derives the keys that they make known.
func (c *Conversation) handshake(sender int, level Level, offset uint64, content []byte) {
	greeting := c.greetings[sender][level]
	if greeting == nil {
		greeting = &Assembly{}
		c.greetings[sender][level] = greeting
	}
	greeting.Add(offset, content)
	rest := messages(greeting.Data[greeting.read:], func(kind byte, body []byte) {
		switch {
		case kind == clientHello && level == Initial:
			c.secrets = c.keys[string(clientRandom(body))]
			c.Transport[0] = extension(helloExtensions(body), extensionTransport)
		case kind == serverHello && level == Initial:
			c.suite = chosenSuite(body)
		case kind == encryptedExtensions && sender == 1:
			c.ALPN, c.Transport[1] = chosenALPN(body), extension(body, extensionTransport)
		}
	})
	greeting.read = len(greeting.Data) - len(rest)
	c.derive()
}

// derive creates every key whose inputs are known.
func (c *Conversation) derive() {
	if c.suite == nil {
		return
	}
	for d := range c.openers {
		for level, label := range map[Level]string{Handshake: handshakeLabels[d], Application: trafficLabels[d]} {
			if secret := c.secrets[label]; secret != nil && c.openers[d][level] == nil {
				c.openers[d][level] = NewPacketKeys(c.suite, secret)
			}
		}
	}
}

// HasSecrets reports whether the key log has the secrets of the connection. They are known once the ClientHello has been
// read.
func (c *Conversation) HasSecrets() bool { return c.secrets != nil }
