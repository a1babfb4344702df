// node-spdy as a client: node client.js tls|plain spdy/3.1 port case...
const spdy = require('spdy'), https = require('https'), http = require('http');
const [mode, version, port, ...cases] = process.argv.slice(2);
const plain = mode === 'plain', lib = plain ? http : https;
const agent = spdy.createAgent({ host: '127.0.0.1', port: +port, rejectUnauthorized: false,
  spdy: plain ? { plain: true, ssl: false, protocol: version, protocols: [version] } : { protocols: [version], ssl: true } });
agent.on('error', e => console.log('agent error', e.message));
const same = (d, at) => { for (let i = 0; i < d.length; i++, at++) if (d[i] !== ((at * 7 + (at >> 8) * 13 + (at >> 16) * 31) & 255)) return false; return true; };
const fetch = (method, path, send, onPush) => new Promise((resolve, reject) => {
  const req = lib.request({ host: '127.0.0.1', port: +port, path, method, agent, headers: send ? { 'content-length': send.length } : {} }, res => {
    let n = 0, ok = true, text = '';
    res.on('data', d => { ok = ok && same(d, n); n += d.length; if (text.length < 100) text += d.toString('latin1'); });
    res.on('end', () => resolve({ status: res.statusCode, n, ok, text }));
  });
  req.on('error', reject);
  if (onPush) req.on('push', onPush);
  req.end(send);
});
const size = async n => { const r = await fetch('GET', '/' + n); if (r.status !== 200 || r.n !== n || !r.ok) throw new Error(JSON.stringify(r)); };
const all = {
  get: () => size(100), mib: () => size(1 << 20), mib64: () => size(64 << 20), tiny: () => post(50000),
  post: () => post(200000), parallel: () => Promise.all(Array.from({ length: 100 }, (_, i) => size(1000 + i))),
  push: () => new Promise((resolve, reject) => fetch('GET', '/push', null, s => {
    let text = ''; s.on('data', d => { text += d; }); s.on('end', () => text === 'pushed' ? resolve() : reject(new Error(text)));
    s.on('error', reject);
  }).catch(reject)),
};
const post = async n => { const r = await fetch('POST', '/', Buffer.alloc(n)); if (r.text !== 'got ' + n) throw new Error(JSON.stringify(r)); };
// early posts to a resource that is answered before the body has been read.
const early = async n => { const r = await fetch('POST', '/early', Buffer.alloc(n)); if (r.n !== 100 || !r.ok) throw new Error(JSON.stringify(r)); };
(async () => {
  for (const c of cases) {
    try { await (c.startsWith('early-') ? early(+c.slice(6)) : all[c]()); console.log('case', c, 'ok'); } catch (e) { console.log('case', c, 'failed', e.message); }
  }
  process.exit(0);
})();
