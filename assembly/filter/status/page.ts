/**
 * The status page: one self-contained document that fetches `<its own path>.json` each second. No network besides, no build
 * chain; colours follow the reader's light or dark setting; tables turn into cards on a phone.
 */
const STYLE: string =
  ":root{color-scheme:light dark;--ink:light-dark(#1c2430,#e6eaf0);--soft:light-dark(#5b6675,#98a2b3);--line:light-dark(#e3e7ed,#2b333f);" +
  "--card:light-dark(#fff,#161c25);--bar:light-dark(#3563c9,#7da2f5);--good:light-dark(#18794e,#4cc38a);--bad:light-dark(#b42318,#f97066)}" +
  "body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:light-dark(#f6f7f9,#0d1117);margin:0 auto;padding:1.5rem;max-width:76rem}" +
  "h1{font-size:1.25rem;margin:0}h2{font-size:1rem;margin:1.6rem 0 .5rem}p{color:var(--soft);margin:.2rem 0 1.2rem}" +
  ".sums{display:flex;flex-wrap:wrap;gap:.75rem}.sums div,table{background:var(--card);border:1px solid var(--line);border-radius:10px}" +
  ".sums div{padding:.6rem .9rem;flex:1 1 9rem}.sums b{display:block;font-size:1.3rem;font-variant-numeric:tabular-nums}.sums span{color:var(--soft);font-size:.85rem}" +
  "table{border-collapse:separate;border-spacing:0;width:100%;font-variant-numeric:tabular-nums}th{color:var(--soft);font-weight:500;font-size:.85rem;vertical-align:bottom}" +
  "th,td{padding:.45rem .6rem;text-align:right;border-bottom:1px solid var(--line)}tr:last-child td{border-bottom:0}th:first-child,td:first-child{text-align:left}" +
  "td{white-space:nowrap}th{max-width:6.5rem}td:first-child{font-weight:600}.told th:last-child,.told td:last-child{text-align:left;max-width:none;white-space:normal;font-weight:400;color:var(--soft);width:55%}.told td:first-child{font-weight:400}" +
  ".bar{display:inline-block;width:3.5rem;height:.5rem;border-radius:4px;background:var(--line);margin-right:.5rem;vertical-align:middle;overflow:hidden}" +
  ".bar i{display:block;height:100%;background:var(--bar)}.num{display:inline-block;min-width:3.2rem}.bad{color:var(--bad);font-weight:600}.good{color:var(--good)}" +
  "@media(max-width:760px){body{padding:1rem}.sums div{flex-basis:7rem}table,tbody,tr,td{display:block}thead{display:none}tr{padding:.4rem 0;border-bottom:1px solid var(--line)}tr:last-child{border:0}" +
  "td,td:first-child{border:0;display:flex;justify-content:space-between;gap:1rem;padding:.2rem .8rem}td::before{content:attr(data-l);color:var(--soft);font-weight:400}" +
  ".told td:first-child{font-weight:600}.told td:last-child{justify-content:start;text-align:left;width:auto}.told td:last-child::before{content:none}" +
  "#rows tr{display:grid;grid-template-columns:repeat(3,1fr);gap:.4rem .8rem;padding:.7rem .8rem}#rows td{flex-direction:column;justify-content:start;gap:0;padding:0;text-align:left;overflow-wrap:anywhere;white-space:normal}" +
  "#rows td::before{font-size:.75rem}#rows td:first-child{grid-column:span 2}#rows .num{min-width:0}#rows .bar{width:2.6rem}}";

/** Reasons as people would say them; what is not named here is shown by its own name. */
const REASONS: string =
  "const why={session:'a known session, on its server',prefix:'most of the prompt is cached there',load:'a warm server was too busy'," +
  "cold:'no server had any of it',fallback:'another than the first choice answered',opaque:'nothing readable in the body',bypass:'not inference'," +
  "queue_full:'answered 429: no place in the queue',queue_timeout:'answered 429: waited too long',deadline:'answered 429: too late for the client'};";

const SCRIPT: string =
  "const id=x=>document.getElementById(x);const el=(t,x)=>{const e=document.createElement(t);if(x!==undefined)e.textContent=x;return e};" +
  "const n=v=>v===null?'–':v.toLocaleString('en');const share=v=>v===null?'–':{bar:v};const fixed=(v,d)=>v===null?'–':v.toFixed(d);" +
  "const whole=v=>v>0&&v<.005?'<1 %':Math.round(100*v)+' %',percent=(a,b)=>b>0?whole(a/b):'–';" +
  "const state=h=>h.usable?h.stale?{text:'old report',tone:'bad'}:{text:'ok',tone:'good'}:{text:'set aside',tone:'bad'};" +
  "const cols=[['server',h=>h.host],['state',state],['in flight here',h=>n(h.in_flight)],['running',h=>n(h.running)],['waiting',h=>n(h.waiting)]," +
  "['KV in use',h=>share(h.kv_usage)],['cache filled',h=>share(h.capacity_tokens>0?Math.min(1,h.inserted_tokens/h.capacity_tokens):null)],['GPU',h=>share(h.gpu_utilization)]," +
  "['prefill, ms per 1k tokens',h=>fixed(h.prefill_ms_per_token===null?null:1000*h.prefill_ms_per_token,1)],['decode, ms per token',h=>fixed(h.decode_ms_per_token,1)]," +
  "['report age',h=>h.age_ms===null?'–':(h.age_ms/1000).toFixed(1)+' s']];" +
  "const off=p=>p.observed>0?p.missed/p.observed:null,bias=p=>{if(!(p.observed>0))return'–';const b=Math.round(100*(p.predicted/p.observed-1));return b===0?'even':Math.abs(b)+' % too '+(b>0?'high':'low')};" +
  "const guesses=[['prediction',g=>g[1]],['off by',g=>share(off(g[0]))],['on the whole',g=>bias(g[0])],['meaning',g=>g[2]]];" +
  "const told={ttft_ms:['time to first token','from sending to the first byte of a streamed answer'],prompt_tokens:['prompt tokens','estimated from bytes; servers then report them'],output_tokens:['output tokens','from answers to requests alike; servers then report them']};" +
  "const reasons=[['reason',r=>r[0]],['requests',r=>n(r[1])],['share',r=>share(r[2])],['meaning',r=>why[r[0]]||'']];" +
  "function cell(label,v){const td=el('td'),s=el('span');td.dataset.l=label;td.append(s);if(v&&v.bar!==undefined){const b=el('span'),i=el('i');b.className='bar';" +
  "i.style.width=Math.min(100,100*v.bar)+'%';b.append(i);s.append(b,Object.assign(el('span',whole(v.bar)),{className:'num'}))}else if(v&&v.tone){s.className=v.tone;s.textContent=v.text}else s.textContent=v;return td}" +
  "const row=(columns,of)=>{const tr=el('tr');for(const[label,f]of columns)tr.append(cell(label,f(of)));return tr};" +
  "function sum(label,value){const d=el('div');d.append(el('b',value),el('span',label));return d}" +
  "for(const[t,columns]of[['head',cols],['whyhead',reasons],['guesshead',guesses]])for(const[label]of columns)id(t).append(el('th',label));" +
  "async function show(){try{const r=await fetch(location.pathname.replace(/\\/$/,'')+'.json',{cache:'no-store'});if(!r.ok)throw Error('HTTP '+r.status);const d=await r.json();" +
  "id('note').textContent=d.hosts.length?'As this gateway sees its servers now; a dash means that it is not known.':'No server is known yet: see hosts and discovery in the configuration.';" +
  "const flight=d.hosts.reduce((a,h)=>a+h.in_flight,0),usable=d.hosts.filter(h=>h.usable).length,t=d.tokens;id('sums').replaceChildren(sum('servers usable',usable+' of '+d.hosts.length)," +
  "sum('requests in flight',n(flight)),sum('requests held',n(d.queue.length)),sum('prompt tokens expected in cache',percent(t.cached_expected,t.prompt)),sum('of these, found by servers',percent(Math.min(t.cached_reported,t.cached_expected),t.cached_expected)),sum('known prefixes',n(d.table.entries)),...(d.peers.members?[sum('other gateways heard',d.peers.heard+' of '+d.peers.members)]:[]));" +
  "id('rows').replaceChildren(...d.hosts.sort((a,b)=>a.host.localeCompare(b.host,'en',{numeric:true})).map(h=>row(cols,h)));const all=Object.values(d.decisions).reduce((a,b)=>a+b,0);" +
  "id('why').replaceChildren(...Object.entries(d.decisions).filter(e=>e[1]>0).sort((a,b)=>b[1]-a[1]).map(e=>row(reasons,[...e,e[1]/all])));id('whys').hidden=all===0;const seen=Object.entries(told).map(([k,v])=>[d.predictions[k],...v]).filter(g=>g[0].observed>0);id('guess').replaceChildren(...seen.map(g=>row(guesses,g)));id('guesses').hidden=seen.length===0" +
  "}catch(e){id('note').textContent='No data: '+e.message+'. Trying again.'}setTimeout(show,1000)}show()";

export const PAGE: string =
  "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width,initial-scale=1'><link rel=icon href='data:,'><title>warmroute</title><style>" +
  STYLE +
  "</style><h1>warmroute</h1><p id=note>Reading…</p><div class=sums id=sums></div><h2>Servers</h2><table><thead><tr id=head></tr></thead><tbody id=rows></tbody></table>" +
  "<section id=whys class=told hidden><h2>Requests by why their server was chosen</h2><table><thead><tr id=whyhead></tr></thead><tbody id=why></tbody></table></section>" +
  "<section id=guesses class=told hidden><h2>How well it predicts, since Envoy started</h2><table><thead><tr id=guesshead></tr></thead><tbody id=guess></tbody></table></section><script>" +
  REASONS +
  SCRIPT +
  "</script></html>";
