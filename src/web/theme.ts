/** Has the page look as the browser does: light or dark, with more contrast or not, also when that changes. */
export function followTheme(): void {
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
