import ts from 'typescript';

/** Without JSDoc, which takes longer to parse than all else. */
const options: ts.CreateSourceFileOptions = { languageVersion: ts.ScriptTarget.Latest, jsDocParsingMode: ts.JSDocParsingMode.ParseNone };

/** The syntax tree of a source, each node with its parent. */
export function sourceTree(file: string, text: string): ts.SourceFile {
  return ts.createSourceFile(file, text, options, true);
}
