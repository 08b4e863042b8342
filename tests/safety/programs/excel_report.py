"""Write a sales report as an Excel workbook with totals and a chart."""

import pandas as pd
from openpyxl import load_workbook
from openpyxl.chart import BarChart, Reference

sales = pd.DataFrame(
    {
        "region": ["north", "south", "north", "east", "south", "east"],
        "product": ["tea", "tea", "coffee", "coffee", "coffee", "tea"],
        "amount": [120, 80, 200, 150, 90, 60],
    }
)
table = sales.pivot_table(index="region", columns="product", values="amount", aggfunc="sum", fill_value=0)
table["total"] = table.sum(axis=1)

with pd.ExcelWriter("report.xlsx", engine="openpyxl") as writer:
    sales.to_excel(writer, sheet_name="sales", index=False)
    table.to_excel(writer, sheet_name="summary")

book = load_workbook("report.xlsx")
sheet = book["summary"]
chart = BarChart()
chart.title = "Sales by region"
chart.add_data(Reference(sheet, min_col=4, min_row=1, max_row=sheet.max_row), titles_from_data=True)
sheet.add_chart(chart, "F2")
book.save("report.xlsx")
print(table)
