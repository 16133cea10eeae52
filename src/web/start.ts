import { fromFragment } from './link';
import { askFirst } from './planner-worker';

/*
 * What the document runs first, before it is read to its end. A link's figures come before the page that explains them: it waits for
 * them a while, since on a slow processor its code would delay them.
 */

const longestWaitMs = 1000;

void start();

async function start(): Promise<void> {
  // The page reports a link that it cannot read.
  const linked = await fromFragment(location.hash).catch(() => null);
  const figures = linked === null ? null : askFirst(linked);
  if (document.readyState === 'loading') await new Promise((resolve) => document.addEventListener('DOMContentLoaded', resolve));
  followTheme();
  let isLoaded = false;
  if (figures !== null) {
    document.body.dataset['screen'] = 'work';
    // Once the page has loaded, it shows its own, which may be of another config.
    const shown = figures.then((text) => (isLoaded ? undefined : show(text)));
    await Promise.race([shown, new Promise((resolve) => setTimeout(resolve, longestWaitMs))]);
  }
  await import('./main');
  isLoaded = true;
}

function show(figures: string | null): void {
  const line = document.getElementById('first');
  if (line !== null && figures !== null) line.textContent = figures;
}

/** Has the page look as the browser does: light or dark, with more contrast or not, also when that changes. */
function followTheme(): void {
  const [dark, contrast] = ['(prefers-color-scheme: dark)', '(prefers-contrast: more)'].map((query) => matchMedia(query));
  const apply = (): void => {
    const names = contrast?.matches === true ? (['high-contrast', 'high-contrast-light'] as const) : (['dark', 'light'] as const);
    const theme = names[dark?.matches === true ? 0 : 1];
    document.documentElement.className = theme;
    document.body.dataset['vscodeThemeKind'] = `vscode-${theme}`;
    document.body.className = `vscode-${theme}`;
  };
  for (const query of [dark, contrast]) query?.addEventListener('change', apply);
  apply();
}
