import assert from 'node:assert/strict';
import { before } from 'mocha';
import type { EditableFile } from '../../../../../src/core/export/launchers/edit-launcher';
import { newFileWriter, type NewFileWriter } from '../../../../../src/core/export/launchers/new-launcher';
import { launcherFormats, launchers } from '../../../../../src/core/launchers/registry';
import type { Editor } from '../../../../../src/core/launchers/writing/editor';
import type { LauncherFile, LauncherReader } from '../../../../../src/core/run/facts';

/** Every editor by the format of its files, once tests run. */
export const editors = new Map<string, Editor>();

const writtenFormats = ['megatron-shell', 'megatron-bridge', 'torchtitan', 'deepspeed'] as const;

/** Formats of which new files are written. */
export type WrittenFormat = (typeof writtenFormats)[number];

const writers = new Map<WrittenFormat, NewFileWriter>();

/** Loads all of them. */
export async function loadEditors(): Promise<void> {
  for (const format of launcherFormats) {
    const editor = await launchers[format].editor?.();
    if (editor !== undefined) editors.set(format, editor);
  }
  for (const format of writtenFormats) writers.set(format, await newFileWriter(format));
}

before(loadEditors);

/** A launcher's file with its editor. */
export function editable(launcher: LauncherFile, read: LauncherReader): EditableFile {
  return { launcher, read, editor: editors.get(launcher.format) ?? assert.fail(`${launcher.format} is not edited`) };
}

/** What writes new files of a format. */
export function writerOf(format: WrittenFormat): NewFileWriter {
  return writers.get(format) ?? assert.fail(format);
}
