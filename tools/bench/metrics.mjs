/** What a process says about itself on /metrics. @returns a function that adds up the series of a name */
export async function metricsOf(url) {
  const lines = (await (await fetch(`${url}/metrics`)).text()).split('\n');
  return (name) =>
    lines
      .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

export async function rssMb(url) {
  return (await metricsOf(url))('process_resident_memory_bytes') / 1024 / 1024;
}
