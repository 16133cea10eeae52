import { startDemo } from './demo';
import { figuresOnBoth, pageFrame, timelineFrame } from './plan-page';
import { chooseTheme, launchBrowser, openWorkbench } from './workbench';

/** What README shows first: the demo as it opens in a real VS Code, 1600 by 1000 pixels. */
export async function demoPicture(chromiumPath: string): Promise<Buffer> {
  const demo = await startDemo();
  const browser = await launchBrowser(chromiumPath);
  try {
    const { page } = await openWorkbench(browser, demo.url);
    await figuresOnBoth(page, () => true);
    await chooseTheme(page, 'Dark Modern', 'vs-dark');
    for (const kind of ['side', 'tab'] as const) await (await pageFrame(page, kind)).locator('body.vscode-dark').waitFor();
    await page.locator('.codelens-decoration a', { hasText: '/ step' }).waitFor();
    await timelineFrame(page);
    // Toasts of the start go.
    await page.locator('.notifications-toasts.visible').waitFor({ state: 'hidden' });
    return await page.screenshot();
  } finally {
    await browser.close();
    await demo.stop();
  }
}
