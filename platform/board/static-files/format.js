// Numbers for people.

/** Three significant digits: 0.0312, 1.24, −18.2, 1,240. */
export function number(value) {
  if (value === null || value === undefined) return "–";
  if (value < 0) return `−${number(-value)}`;
  if (value !== 0 && (value < 1e-3 || value >= 1e7)) return value.toExponential(1);
  if (value >= 100) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(3)));
}

/** For the cells of the map: at most four characters, as .83, 1.0, 12 or −.4. */
export function tiny(value) {
  if (value === null || value === undefined) return "";
  const sign = value < 0 ? "−" : "";
  const size = Math.abs(value);
  if (size < 0.995) return size < 0.005 ? "0" : sign + size.toFixed(2).slice(1);
  if (size < 9.95) return sign + size.toFixed(1);
  if (size < 999.5) return sign + Math.round(size);
  return sign + short(size);
}

/** 950, 1.2k, 34M: counts of steps. */
export function short(value) {
  if (value === null || value === undefined) return "–";
  for (const [scale, name] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= 0.9995 * scale) {
      const scaled = value / scale;
      return (scaled < 9.95 ? scaled.toFixed(1).replace(/\.0$/, "") : Math.round(scaled)) + name;
    }
  }
  return String(Math.round(value));
}

/** 40 s, 12 min, 3 h 05 min, 2 d 4 h. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${String(minutes % 60).padStart(2, "0")} min`;
  const days = Math.floor(hours / 24);
  return `${days} d ${hours % 24} h`;
}

/** 40s, 12m, 3.1h, 2d: for the cells of the map. */
export function tinyDuration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 59.5) return `${Math.round(seconds)}s`;
  if (seconds < 3570) return `${Math.round(seconds / 60)}m`;
  if (seconds < 36000) return `${(seconds / 3600).toFixed(1)}h`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)}h`;
  return `${Math.round(seconds / 86400)}d`;
}

/** 62 %; 100 % only when complete. */
export function percent(share) {
  const shown = share >= 1 ? 100 : Math.min(99, Math.round(100 * share));
  return `${shown} %`;
}
