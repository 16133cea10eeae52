/** Style of the report. Colours are chosen for contrast of 4.5 and more on both themes; bars keep theirs in print. */
export const reportStyle = `
:root{color-scheme:light dark;--surface:#fff;--foreground:#1b1f24;--muted:#57606a;--rule:#d0d7de;--accent:#0b62c4;--bad:#b3261e;
--forward:#2f6fd0;--backward:#c46a12;--backward-weight:#8f6b4a;--weights:#2f6fd0;--gradients:#7a4fc0;--optimizer:#8a6d00;--activations:#c46a12;--dummy-gradients:#b39add;--workspaces:#b3b9c4;--keys-values:#1f8a8a;--logits:#4d6a94;--kept-for-weights:#8f6b4a;--backward-operation:#a8324a;--texture:#ffffff73}
@media (prefers-color-scheme:dark){:root{--surface:#15181d;--foreground:#e6e9ee;--muted:#a2abb6;--rule:#363d47;--accent:#7ab2ff;--bad:#ff8a80;
--forward:#6aa5f5;--backward:#e09a50;--backward-weight:#a9825f;--weights:#6aa5f5;--gradients:#b493f0;--optimizer:#d1b24a;--activations:#e09a50;--dummy-gradients:#7d66ab;--workspaces:#4d5560;--keys-values:#5cc2c2;--logits:#a9c1e8;--kept-for-weights:#a9825f;--backward-operation:#e07a8f;--texture:#15181d73}}
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
.forward{background:var(--forward)}.backward{background:var(--backward)}.backward-weight{background:var(--backward-weight)}.gradients{background:var(--gradients)}.optimizer{background:var(--optimizer)}.copies{background:var(--keys-values)}.frozen{background:var(--workspaces)}
.part-weights{background:var(--weights)}
.part-gradients{background:repeating-linear-gradient(135deg,var(--texture) 0 1px,transparent 1px 4px),var(--gradients)}
.part-optimizer{background:radial-gradient(var(--texture) 1px,transparent 1.4px) 0 0/4px 4px,var(--optimizer)}
.part-dummyGradients{background:repeating-linear-gradient(135deg,var(--texture) 0 1px,transparent 1px 5px),repeating-linear-gradient(45deg,var(--texture) 0 1px,transparent 1px 5px),var(--dummy-gradients)}
.part-workspaces{background:repeating-linear-gradient(90deg,var(--texture) 0 1px,transparent 1px 4px),var(--workspaces)}
.part-activations{background:repeating-linear-gradient(0deg,var(--texture) 0 1px,transparent 1px 5px),var(--activations)}
.part-keysValues{background:repeating-linear-gradient(45deg,var(--texture) 0 1px,transparent 1px 4px),var(--keys-values)}
.part-logits{background:repeating-linear-gradient(0deg,var(--texture) 0 1px,transparent 1px 5px),repeating-linear-gradient(90deg,var(--texture) 0 1px,transparent 1px 5px),var(--logits)}
.part-keptForWeights{background:repeating-linear-gradient(135deg,var(--texture) 0 1px,transparent 1px 2.2px),var(--kept-for-weights)}
.part-backwardOperation{background:repeating-linear-gradient(135deg,var(--texture) 0 1px,transparent 1px 3px),repeating-linear-gradient(45deg,var(--texture) 0 1px,transparent 1px 3px),var(--backward-operation)}
.picture svg{display:block;max-width:100%;height:auto}
ul{margin:0;padding-left:20px}
li{margin:2px 0;overflow-wrap:anywhere}
footer{color:var(--muted);font-size:13px;border-top:1px solid var(--rule)}
.bar span,.swatch,.picture{-webkit-print-color-adjust:exact;print-color-adjust:exact}
@media print{:root{color-scheme:light;--surface:#fff;--foreground:#000;--muted:#444;--rule:#bbb;--accent:#0b4a94;--bad:#8c1d18;
--forward:#2f6fd0;--backward:#c46a12;--backward-weight:#8f6b4a;--weights:#2f6fd0;--gradients:#7a4fc0;--optimizer:#8a6d00;--activations:#c46a12;--dummy-gradients:#b39add;--workspaces:#b3b9c4;--keys-values:#1f8a8a;--logits:#4d6a94;--kept-for-weights:#8f6b4a;--backward-operation:#a8324a;--texture:#ffffff73}
main,footer{max-width:none;padding:0}tr,.number,.picture,li{break-inside:avoid}h2{break-after:avoid}body{font-size:12px}}
`.trim();
