import { configurationText } from './configuration';
import { findingsText } from './findings';
import { noticesText } from './notices';
import { readersText } from './readers';
import { sourceText, webviewText } from './rooms-text';

/** Documents that are written by `npm run docs -- --write`, and their text as it should be, except for what a formatter adds. */
export const generatedDocuments: readonly { readonly file: string; readonly text: () => string }[] = [
  { file: 'docs/configuration.md', text: configurationText },
  { file: 'docs/findings.md', text: findingsText },
  { file: 'docs/readers.md', text: readersText },
  { file: 'src/README.md', text: sourceText },
  { file: 'webview/README.md', text: webviewText },
  { file: 'THIRD_PARTY_NOTICES.md', text: noticesText },
];
