/** `gpt3-175b` for `.../gpt3-175b/terapipe.json`, otherwise the file's name without its ending. */
export function titleOf(file: string): string {
  const parts = decoded(file)
    .split(/[/\\]/)
    .filter((part) => part !== '');
  const name = parts.at(-1) ?? file;
  const folder = parts.at(-2);
  if (folder !== undefined && /^(config|terapipe)\.jsonc?$/i.test(name)) return folder;
  return name.replace(/(\.config|\.terapipe)?\.(jsonc?|ya?ml|toml|sh|bash|slurm|sbatch)$/i, '');
}

function decoded(file: string): string {
  try {
    return decodeURIComponent(file);
  } catch {
    return file;
  }
}
