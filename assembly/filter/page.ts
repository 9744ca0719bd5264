/**
 * The status page: one self-contained document that fetches `<its own path>.json` each second. No network besides, no build
 * chain; colours follow the reader's light or dark setting; tables turn into cards on a phone.
 */
export const PAGE: string =
  "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width,initial-scale=1'>" +
  "<title>warmroute</title><style>" +
  ":root{color-scheme:light dark;--ink:light-dark(#1c2430,#e6eaf0);--soft:light-dark(#667085,#98a2b3);--line:light-dark(#e3e7ed,#2b333f);" +
  "--card:light-dark(#fff,#161c25);--bar:light-dark(#3563c9,#7da2f5);--bad:light-dark(#b42318,#f97066)}" +
  "body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:light-dark(#f6f7f9,#0d1117);margin:0 auto;padding:1.5rem;max-width:70rem}" +
  "h1{font-size:1.25rem;margin:0}p{color:var(--soft);margin:.2rem 0 1.2rem}" +
  ".sums{display:flex;flex-wrap:wrap;gap:.75rem;margin-bottom:1.2rem}.sums div,table{background:var(--card);border:1px solid var(--line);border-radius:10px}" +
  ".sums div{padding:.6rem .9rem;min-width:7rem}.sums b{display:block;font-size:1.3rem;font-variant-numeric:tabular-nums}.sums span{color:var(--soft);font-size:.85rem}" +
  "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th{color:var(--soft);font-weight:500;font-size:.85rem}" +
  "th,td{padding:.5rem .7rem;text-align:right;border-bottom:1px solid var(--line)}tr:last-child td{border-bottom:0}th:first-child,td:first-child{text-align:left}" +
  ".bar{display:inline-block;width:4.5rem;height:.5rem;border-radius:4px;background:var(--line);margin-right:.5rem;vertical-align:middle;overflow:hidden}" +
  ".bar i{display:block;height:100%;background:var(--bar)}.bad{color:var(--bad)}" +
  "@media(max-width:720px){body{padding:1rem}table,tbody,tr,td{display:block}thead{display:none}tr{padding:.4rem 0;border-bottom:1px solid var(--line)}" +
  "td,td:first-child{border:0;display:flex;justify-content:space-between;padding:.2rem .8rem}td::before{content:attr(data-l);color:var(--soft)}td:first-child{font-weight:600}}" +
  "</style><h1>warmroute</h1><p id=note>Reading…</p><div class=sums id=sums></div><table><thead><tr id=head></tr></thead><tbody id=rows></tbody></table><script>" +
  "const cols=[['server',h=>h.host],['state',h=>h.usable?(h.stale?['report is old','bad']:'ok'):['set aside','bad']],['in flight',h=>h.in_flight],['running',h=>n(h.running)],['waiting',h=>n(h.waiting)]," +
  "['KV cache',h=>share(h.kv_usage)],['GPU',h=>share(h.gpu_utilization)],['prefill ms / 1k tokens',h=>h.prefill_ms_per_token===null?'–':(1000*h.prefill_ms_per_token).toFixed(1)]," +
  "['ms / output token',h=>h.decode_ms_per_token===null?'–':h.decode_ms_per_token.toFixed(1)],['report age',h=>h.age_ms===null?'–':(h.age_ms/1000).toFixed(1)+' s']];" +
  "const n=v=>v===null?'–':String(v);const share=v=>v===null?'–':{bar:v};const id=x=>document.getElementById(x);const el=(t,x)=>{const e=document.createElement(t);e.textContent=x;return e};" +
  "for(const[c]of cols)id('head').append(el('th',c));" +
  "function sum(label,value){const d=el('div','');d.append(el('b',value),el('span',label));return d}" +
  "async function show(){try{const r=await fetch(location.pathname.replace(/\\/$/,'')+'.json',{cache:'no-store'});if(!r.ok)throw Error('HTTP '+r.status);const d=await r.json();" +
  "id('note').textContent=d.hosts.length?'As this gateway sees its servers now; a dash means that it is not known.':'No server is known yet: see hosts and discovery in the configuration.';" +
  "const flight=d.hosts.reduce((a,h)=>a+h.in_flight,0);id('sums').replaceChildren(sum('servers usable',d.hosts.filter(h=>h.usable).length+' of '+d.hosts.length),sum('requests in flight',flight),sum('requests held',d.queue.length),sum('known prefixes',d.table.entries.toLocaleString()));" +
  "id('rows').replaceChildren(...d.hosts.map(h=>{const tr=el('tr','');for(const[c,f]of cols){const v=f(h),td=el('td','');td.dataset.l=c;if(Array.isArray(v)){td.append(Object.assign(el('span',v[0]),{className:v[1]}))}" +
  "else if(v&&v.bar!==undefined){const b=el('span',''),s=el('span',''),i=el('i','');b.className='bar';i.style.width=Math.min(100,100*v.bar)+'%';b.append(i);s.append(b,Math.round(100*v.bar)+' %');td.append(s)}else td.append(el('span',v));tr.append(td)}return tr}))" +
  "}catch(e){id('note').textContent='No data: '+e.message+'. Trying again.'}setTimeout(show,1000)}show()</script></html>";
