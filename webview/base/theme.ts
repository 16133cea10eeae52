import { mix, over, type Rgba } from './color';
import type { MemoryPart } from '../../src/core/memory-model/profile';

/** The colours and font of VS Code's theme as canvases need them: opaque, resolved. */
export interface Theme {
  readonly highContrast: boolean;
  readonly background: Rgba;
  readonly foreground: Rgba;
  readonly dim: Rgba;
  readonly line: Rgba;
  /** Lines behind what is drawn. */
  readonly grid: Rgba;
  readonly track: Rgba;
  readonly focus: Rgba;
  readonly error: Rgba;
  readonly forward: Rgba;
  readonly backward: Rgba;
  readonly backwardWeight: Rgba;
  readonly capacity: Rgba;
  readonly gradientExchange: Rgba;
  readonly optimizer: Rgba;
  /** Activations that leave a stage and come back. */
  readonly copies: Rgba;
  readonly parts: Readonly<Record<MemoryPart, Rgba>>;
  readonly fontFamily: string;
  /** CSS px. */
  readonly fontPx: number;
}

let current: Theme | null = null;
const listeners = new Set<() => void>();

/** The theme now; read once and again after every change of it. */
export function theme(): Theme {
  current ??= readTheme();
  return current;
}

/** Calls `listener` after every change of the theme. */
export function onThemeChange(listener: () => void): void {
  listeners.add(listener);
}

/** Starts to watch VS Code's theme: it changes the classes of the body and the variables on the root element. */
export function watchTheme(): void {
  const changed = (): void => {
    current = null;
    for (const listener of listeners) listener();
  };
  const observer = new MutationObserver(changed);
  observer.observe(document.body, { attributes: true, attributeFilter: ['class', 'data-vscode-theme-id'] });
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['style', 'class'] });
}

function readTheme(): Theme {
  const style = getComputedStyle(document.body);
  const probe = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const resolve = (text: string): Rgba | null => {
    if (probe === null || text === '' || !CSS.supports('color', text)) return null;
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = text;
    probe.fillRect(0, 0, 1, 1);
    const [red = 0, green = 0, blue = 0, alpha = 0] = probe.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const read = (...names: readonly string[]): Rgba | null => {
    for (const name of names) {
      const found = resolve(style.getPropertyValue(`--vscode-${name}`).trim());
      if (found !== null) return found;
    }
    return null;
  };
  const page = resolve(style.backgroundColor);
  const classes = document.body.classList;
  const isLight = classes.contains('vscode-light') || classes.contains('vscode-high-contrast-light');
  const paper: Rgba = isLight ? [255, 255, 255, 1] : [31, 31, 31, 1];
  const background = over(page !== null && page[3] > 0 ? page : paper, paper);
  const solid = (color: Rgba): Rgba => over(color, background);
  const foreground = solid(read('foreground', 'editor-foreground') ?? (isLight ? [59, 59, 59, 1] : [204, 204, 204, 1]));
  const forward = solid(read('terapipe-forward', 'charts-blue') ?? [55, 148, 255, 1]);
  const backward = solid(read('terapipe-backward', 'charts-orange') ?? [209, 134, 22, 1]);
  const backwardWeight = solid(read('terapipe-backwardWeight') ?? mix(backward, [128, 128, 128, 1], 0.5));
  const error = solid(read('errorForeground', 'charts-red') ?? [241, 76, 76, 1]);
  /** Parts of memory have their colours in `views.css`, where the swatches of the legend take them too. */
  const part = (name: MemoryPart): Rgba => solid(resolve(style.getPropertyValue(`--part-${name}`).trim()) ?? foreground);
  const highContrast = classes.contains('vscode-high-contrast') || classes.contains('vscode-high-contrast-light');
  return {
    highContrast,
    background,
    foreground,
    dim: solid(read('descriptionForeground') ?? mix(foreground, background, 0.3)),
    line: highContrast ? solid(read('contrastBorder') ?? foreground) : mix(background, foreground, 0.16),
    grid: mix(background, foreground, highContrast ? 0.35 : 0.16),
    track: highContrast ? background : mix(background, foreground, 0.045),
    focus: solid(read('focusBorder') ?? forward),
    error,
    forward,
    backward,
    backwardWeight,
    capacity: solid(read('terapipe-capacity', 'charts-red') ?? error),
    gradientExchange: part('gradients'),
    optimizer: part('optimizer'),
    copies: part('keysValues'),
    parts: {
      weights: part('weights'),
      gradients: part('gradients'),
      optimizer: part('optimizer'),
      dummyGradients: part('dummyGradients'),
      workspaces: part('workspaces'),
      activations: part('activations'),
      keysValues: part('keysValues'),
      logits: part('logits'),
      keptForWeights: part('keptForWeights'),
      backwardOperation: part('backwardOperation'),
    },
    fontFamily: style.fontFamily,
    fontPx: Number.parseFloat(style.fontSize) || 13,
  };
}
