for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement, row = head.parentElement, body = row.parentElement.nextElementSibling;
    const up = head.getAttribute("aria-sort") !== "ascending", column = head.cellIndex;
    for (const other of row.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (line) => line.cells[column].dataset.v ?? line.cells[column].textContent;
    const compare = (a, b) => {
      const x = value(a), y = value(b);
      if (x === "" || y === "") return (x === "") - (y === ""); // nothing comes last, either way
      const order = x - y;
      return (up ? 1 : -1) * (Number.isNaN(order) ? x.localeCompare(y) : order);
    };
    body.append(...[...body.rows].sort(compare));
  });
}
