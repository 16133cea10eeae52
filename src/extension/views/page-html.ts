import type { PageKind } from '../../protocol/page';
import { own } from '../../core/records';

interface PageHtml {
  readonly page: PageKind;
  readonly title: string;
  readonly scriptUri: string;
  readonly styleUri: string;
  /** `Webview.cspSource`. */
  readonly cspSource: string;
  /** Fresh and unguessable for each document. */
  readonly nonce: string;
}

/**
 * The complete document of a page: scripts only by nonce, which a module hands on to those it imports; no inline style, nothing from
 * elsewhere.
 */
export function pageHtml({ page, title, scriptUri, styleUri, cspSource, nonce }: PageHtml): string {
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${cspSource}`,
    `font-src ${cspSource}`,
    `img-src ${cspSource} data:`,
  ].join('; ');
  return `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="UTF-8" />
    <meta http-equiv="Content-Security-Policy" content="${escaped(policy)}" />
    <meta name="viewport" content="width=device-width, initial-scale=1.0" />
    <link rel="stylesheet" href="${escaped(styleUri)}" />
    <title>${escaped(title)}</title>
  </head>
  <body data-page="${page}">
    <main id="root"></main>
    <script type="module" nonce="${escaped(nonce)}" src="${escaped(scriptUri)}"></script>
  </body>
</html>
`;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => own(entities, character) ?? '');
}
