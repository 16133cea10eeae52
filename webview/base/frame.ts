const dirty = new Set<() => void>();
let requested = false;

/** Runs `draw` once in the next animation frame, however often it is asked for until then. */
export function nextFrame(draw: () => void): void {
  dirty.add(draw);
  if (requested) return;
  requested = true;
  requestAnimationFrame(() => {
    requested = false;
    const draws = [...dirty];
    dirty.clear();
    for (const run of draws) run();
  });
}

/** Calls `step` with 0..1 over `durationMs`, eased out; at once with 1 when the person prefers no motion. Returns how to stop it. */
export function ease(durationMs: number, step: (fraction: number) => void): () => void {
  if (prefersReducedMotion()) {
    step(1);
    return () => undefined;
  }
  let stopped = false;
  const start = performance.now();
  const tick = (now: number): void => {
    if (stopped) return;
    const fraction = Math.min(1, Math.max(0, (now - start) / durationMs));
    step(1 - (1 - fraction) ** 3);
    if (fraction < 1) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  return () => (stopped = true);
}

/** Whether the operating system or VS Code asks for reduced motion. */
function prefersReducedMotion(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches || document.body.classList.contains('vscode-reduce-motion');
}
