// A server on node-spdy that gives what a manifest says: node serve.js MANIFEST
'use strict';
const spdy = require('spdy'), fs = require('fs'), tls = require('tls');

let alpn, port, log, origin, answer;
const origins = [], answers = new Map(), bodies = new Map();
const body = file => bodies.get(file) || bodies.set(file, fs.readFileSync(file)).get(file);
for (const line of fs.readFileSync(process.argv[2], 'utf8').split('\n')) {
  const [word, ...rest] = line.split('\t');
  if (word === 'serve') [alpn, port, log] = rest;
  if (word === 'origin') {
    const [host, address, cert, key] = rest;
    origin = {host, address, context: tls.createSecureContext({cert: fs.readFileSync(cert), key: fs.readFileSync(key), minVersion: 'TLSv1.3'})};
    origins.push(origin);
  }
  if (word === 'answer') {
    const [method, target, status, , file] = rest;
    answer = {status: +status, fields: {}, body: body(file)};
    answers.set(`${method} ${origin.host}${target}`, answer);
  }
  if (word === 'field') {
    const name = rest.shift(), value = rest.join('\t');
    (answer.fields[name] ||= []).push(value);
  }
}

// The 304 for each answer with validators, and when to send it.
for (const a of answers.values()) {
  const {etag, 'last-modified': modified} = a.fields;
  if (a.status !== 200 || !etag && !modified) continue;
  const kept = Object.entries(a.fields).filter(([name]) => !name.startsWith('content-') && !(etag && name === 'last-modified'));
  a.unchanged = {status: 304, fields: Object.fromEntries(kept), body: Buffer.alloc(0)};
  a.matches = headers => {
    const given = headers['if-none-match'];
    if (given !== undefined) return given === '*' || etag !== undefined && given.includes(etag[0].replace(/^W\//, ''));
    return modified !== undefined && headers['if-modified-since'] === modified[0];
  };
}

const out = log && fs.openSync(log, 'a'); // no log without a name
const now = () => String(BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000))) + '000';
const missing = {status: 404, fields: {'content-type': ['text/plain']}, body: Buffer.from('not archived\n')};

function handle(req, res) {
  const start = now(), socket = req.spdyStream.connection.socket;
  const client = `${socket.remoteAddress}:${socket.remotePort}`, server = `${socket.localAddress}:${socket.localPort}`;
  const host = req.headers.host, asked = req.method === 'HEAD' ? 'GET' : req.method;
  const archived = answers.get(`${asked} ${host.replace(/:\d+$/, '')}${req.url}`) || missing;
  const a = asked === 'GET' && archived.unchanged && archived.matches(req.headers) ? archived.unchanged : archived;
  const none = a.status === 204 || a.status === 304, bare = none || req.method === 'HEAD';
  let logged = false;
  const done = bytes => {
    if (logged || !log) return;
    logged = true;
    const quoted = {tls: socket.getProtocol() || 'TLSv1.3', cipher: (socket.getCipher() || {}).standardName, method: req.method, host, target: req.url,
      protocol: 'spdy/' + req.spdyVersion, resumed: socket.isSessionReused(), status: a.status, bytes, client, server};
    fs.writeSync(out, `{"start":${start},"end":${now()},${JSON.stringify(quoted).slice(1)}\n`);
  };
  // It ends when everything is sent, or with an error.
  req.spdyStream.on('finish', () => done(bare ? 0 : a.body.length));
  req.spdyStream.on('close', err => done(err || bare ? 0 : a.body.length));
  req.on('error', () => {});
  res.on('error', () => {});
  req.resume();
  res.writeHead(a.status, none ? a.fields : {...a.fields, 'content-length': [String(a.body.length)]});
  res.end(bare ? undefined : a.body);
}

for (const address of new Set(origins.map(o => o.address))) {
  const here = origins.filter(o => o.address === address);
  const server = spdy.createServer({
    SNICallback: (name, answer) => answer(null, (here.find(o => o.host === name) || here[0]).context),
    secureOptions: require('crypto').constants.SSL_OP_NO_TICKET, minVersion: 'TLSv1.3',
    spdy: {protocols: [alpn], connection: {maxStreams: 250}},
  }, handle);
  server.timeout = server.requestTimeout = server.headersTimeout = 0;
  server.keepAliveTimeout = 3600e3;
  server.on('tlsClientError', () => {});
  server.listen(+port, address);
}
// What has been sent is yet to be written down.
process.on('SIGTERM', () => setImmediate(() => setImmediate(() => process.exit(0))));
