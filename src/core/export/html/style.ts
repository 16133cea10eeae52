/** Style of the report. Colours are chosen for contrast of 4.5 and more on both themes; bars keep theirs in print. */
export const reportStyle = `
:root{color-scheme:light dark;--surface:#fff;--foreground:#1b1f24;--muted:#57606a;--rule:#d0d7de;--accent:#0b62c4;--bad:#b3261e;
--forward:#2f6fd0;--backward:#c46a12;--backward-weight:#8f6b4a;--weights:#2f6fd0;--gradients:#7a4fc0;--optimizer:#8a6d00;--activations:#c46a12;--other:#6b7280}
@media (prefers-color-scheme:dark){:root{--surface:#15181d;--foreground:#e6e9ee;--muted:#a2abb6;--rule:#363d47;--accent:#7ab2ff;--bad:#ff8a80;
--forward:#6aa5f5;--backward:#e09a50;--backward-weight:#a9825f;--weights:#6aa5f5;--gradients:#b493f0;--optimizer:#d1b24a;--activations:#e09a50;--other:#9aa4b2}}
*{box-sizing:border-box}
body{margin:0;background:var(--surface);color:var(--foreground);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main,footer{max-width:1128px;margin:0 auto;padding:24px}
header p{margin:4px 0;color:var(--muted)}
header .layout{color:var(--foreground)}
h1{margin:0;font-size:26px;overflow-wrap:anywhere}
h2{margin:32px 0 8px;font-size:17px}
.numbers{display:grid;grid-template-columns:repeat(auto-fit,minmax(220px,1fr));gap:16px;margin-top:24px}
.number{border:1px solid var(--rule);border-radius:8px;padding:16px}
.number h2{margin:0;font-size:13px;font-weight:600;color:var(--muted)}
.number p{margin:4px 0 0}
.number strong{font-size:30px;font-variant-numeric:tabular-nums}
.note{color:var(--muted);font-size:13px}
.bad,.bad strong{color:var(--bad)}
em{font-style:normal;font-weight:600;color:var(--accent)}
em.bad{color:var(--bad)}
table{width:100%;border-collapse:collapse;font-size:14px}
th,td{padding:6px 12px 6px 0;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top;overflow-wrap:anywhere}
thead th{font-weight:600;color:var(--muted)}
.figures td,.memory td{font-variant-numeric:tabular-nums}
.figures .chosen td{font-weight:600}
.memory th{overflow-wrap:normal}
.memory th[scope=row]{white-space:nowrap;font-weight:400}
.bar{width:42%}
.bar div{display:flex;height:16px;border:1px solid var(--rule);border-radius:3px;overflow:hidden}
.bar span{flex:none}
.swatch{display:inline-block;width:12px;height:12px;margin:0 6px 0 12px;border-radius:2px;vertical-align:-1px}
.key .swatch:first-child{margin-left:0}
.key{color:var(--muted);font-size:13px;margin:4px 0 8px}
.forward{background:var(--forward)}.backward{background:var(--backward)}.backward-weight{background:var(--backward-weight)}.weights{background:var(--weights)}.gradients{background:var(--gradients)}
.optimizer{background:var(--optimizer)}.activations{background:var(--activations)}.other{background:var(--other)}
.picture svg{display:block;max-width:100%;height:auto}
ul{margin:0;padding-left:20px}
li{margin:2px 0;overflow-wrap:anywhere}
footer{color:var(--muted);font-size:13px;border-top:1px solid var(--rule)}
.bar span,.swatch,.picture{-webkit-print-color-adjust:exact;print-color-adjust:exact}
@media print{:root{color-scheme:light;--surface:#fff;--foreground:#000;--muted:#444;--rule:#bbb;--accent:#0b4a94;--bad:#8c1d18;
--forward:#2f6fd0;--backward:#c46a12;--backward-weight:#8f6b4a;--weights:#2f6fd0;--gradients:#7a4fc0;--optimizer:#8a6d00;--activations:#c46a12;--other:#6b7280}
main,footer{max-width:none;padding:0}tr,.number,.picture,li{break-inside:avoid}h2{break-after:avoid}body{font-size:12px}}
`.trim();
