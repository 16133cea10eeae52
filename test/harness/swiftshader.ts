import { existsSync, realpathSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A Vulkan driver that draws on the CPU, set up for child processes. */
export interface SoftwareVulkan {
  readonly env: Readonly<Record<string, string>>;
  /** Where the Vulkan loader lies. */
  readonly libraryPath: readonly string[];
  readonly remove: () => Promise<void>;
}

/** Folders in which Chromium brings SwiftShader and a Vulkan loader along. */
const folders = ['/usr/lib/chromium', '/opt/google/chrome', '/usr/lib/chromium-browser', '/usr/lib64/chromium-browser'];

/** Uses the SwiftShader of an installed Chromium (CHROMIUM names another than the usual ones); null when there is none. */
export async function softwareVulkan(): Promise<SoftwareVulkan | null> {
  const named = process.env['CHROMIUM'];
  const all = named !== undefined && existsSync(named) ? [dirname(realpathSync(named)), ...folders] : folders;
  const home = all.find((folder) => ['libvk_swiftshader.so', 'libvulkan.so.1'].every((file) => existsSync(join(folder, file))));
  if (home === undefined) return null;
  const folder = await mkdtemp(join(tmpdir(), 'terapipe-vulkan-'));
  const driver = join(folder, 'swiftshader.json');
  const description = { file_format_version: '1.0.0', ICD: { library_path: join(home, 'libvk_swiftshader.so'), api_version: '1.0.5' } };
  await writeFile(driver, JSON.stringify(description));
  return {
    env: { VK_ICD_FILENAMES: driver, VK_DRIVER_FILES: driver },
    libraryPath: [home],
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
