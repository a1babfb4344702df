// node-spdy as a server: node server.js tls|plain spdy/3.1 cert.pem key.pem
const spdy = require('spdy'), fs = require('fs');
const [mode, version, cert, key] = process.argv.slice(2);
const bodies = new Map();
const body = n => bodies.get(n) || make(n);
const make = n => { const b = Buffer.alloc(n); for (let i = 0; i < n; i++) b[i] = i * 7 + (i >> 8) * 13 + (i >> 16) * 31; bodies.set(n, b); return b; };
const options = mode === 'plain'
  ? { spdy: { plain: true, ssl: false, protocols: [version], protocol: version, connection: { autoSpdy31: version === 'spdy/3.1' } } }
  : { cert: fs.readFileSync(cert), key: fs.readFileSync(key), spdy: { protocols: [version] } };
const server = spdy.createServer(options, (req, res) => {
  if (req.method === 'POST') {
    let n = 0;
    req.on('data', d => { n += d.length; });
    req.on('end', () => { res.writeHead(200, { 'content-type': 'text/plain' }); res.end('got ' + n); });
    return;
  }
  if (req.url === '/push') {
    const push = res.push('/pushed', { status: 200, method: 'GET', request: { accept: '*/*' }, response: { 'content-type': 'text/css' } });
    push.on('error', () => {});
    push.end('pushed');
    res.end('page');
    return;
  }
  const b = body(+req.url.slice(1) || 0);
  res.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': b.length });
  res.end(b);
});
server.listen(0, '127.0.0.1', () => console.log('listening', server.address().port));
process.stdin.on('end', () => process.exit(0)).resume();
